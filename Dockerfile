# syntax=docker/dockerfile:1
# Two images from one file: `--target cpu` (default in docker-compose.yml) and
# `--target gpu`. The runtime and the base encoder are fetched and verified, and
# the experts imported, while the image is built, so a container starts without
# the network. The demo's collection lies in /var/lib/conclave/cache/demo, the
# only folder of the cache that is written; a collection of your own lies in
# /var/lib/conclave/data. Images are named by their exact versions.

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum go.work ./
COPY client/go/go.mod client/go/
RUN go mod download
COPY . .
RUN go build -trimpath -o /out/conclave ./cmd/conclave \
    && go run ./internal/sbom /out/conclave "$(sed -n 's/^var version = "\(.*\)"$/\1/p' cmd/conclave/main.go)" >/out/conclave.cdx.json

FROM build AS provision
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip && rm -rf /var/lib/apt/lists/*
ENV CONCLAVE_CACHE=/var/lib/conclave/cache
RUN /out/conclave setup && rm -rf /var/lib/conclave/cache/wheels /var/lib/conclave/cache/checkpoints && chmod -R a+rX /var/lib/conclave/cache

FROM provision AS provision-gpu
RUN /out/conclave setup --provider cuda && rm -rf /var/lib/conclave/cache/wheels /var/lib/conclave/cache/checkpoints && chmod -R a+rX /var/lib/conclave/cache

FROM debian:12.12-slim AS cpu
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libstdc++6 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/conclave --shell /usr/sbin/nologin conclave \
    && mkdir -p /var/lib/conclave/data && chown -R conclave:conclave /var/lib/conclave
COPY --from=provision /out/conclave /usr/local/bin/conclave
COPY --from=provision /out/conclave.cdx.json /usr/share/doc/conclave/
COPY --from=provision --chown=conclave:conclave /var/lib/conclave/cache /var/lib/conclave/cache
# Any user may run the image (docker run --user): what is written lies in these two.
RUN install -d -o conclave -g conclave -m 1777 /var/lib/conclave/cache/demo /var/lib/conclave/data
ENV CONCLAVE_CACHE=/var/lib/conclave/cache
USER conclave
WORKDIR /var/lib/conclave
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["conclave", "healthcheck"]
ENTRYPOINT ["conclave"]
CMD ["demo", "--listen", "0.0.0.0:8080"]

# CUDA and cuDNN are those that setup fetched; the driver is the host's, which NVIDIA's container toolkit brings in.
FROM debian:12.12-slim AS gpu
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libstdc++6 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/conclave --shell /usr/sbin/nologin conclave \
    && mkdir -p /var/lib/conclave/data && chown -R conclave:conclave /var/lib/conclave
COPY --from=provision-gpu /out/conclave /usr/local/bin/conclave
COPY --from=provision-gpu /out/conclave.cdx.json /usr/share/doc/conclave/
COPY --from=provision-gpu --chown=conclave:conclave /var/lib/conclave/cache /var/lib/conclave/cache
# Any user may run the image (docker run --user): what is written lies in these two.
RUN install -d -o conclave -g conclave -m 1777 /var/lib/conclave/cache/demo /var/lib/conclave/data
ENV CONCLAVE_CACHE=/var/lib/conclave/cache CONCLAVE_ENCODER_PROVIDER=cuda
USER conclave
WORKDIR /var/lib/conclave
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["conclave", "healthcheck"]
ENTRYPOINT ["conclave"]
CMD ["demo", "--listen", "0.0.0.0:8080"]
