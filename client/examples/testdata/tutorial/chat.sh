curl -s http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' -d '{
  "model": "conclave", "messages": [
    {"role": "user", "content": "what does a bed in the dormitory cost for guests?"}]}'
