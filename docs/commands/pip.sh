python3 -m venv ~/conclave && . ~/conclave/bin/activate
pip install out/release/conclave_server-*_$(uname -m).whl out/release/conclave_models-*.whl
conclave demo
