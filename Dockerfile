# What runs without root: observe, run --provider existing, predict, analyze, report, diff; with --build-arg EXTRA=stress also
# stress --provider existing and load-worker. `make image` builds it.
ARG BASE=docker.io/library/python:3.13-slim

FROM ${BASE} AS build
# dist/ holds the wheel of crashloop; with PIP_NO_INDEX=1 also every wheel that it needs.
ARG PIP_NO_INDEX=0
ARG EXTRA=run
COPY requirements.lock dist/ /dist/
RUN python3 -m venv /opt/crashloop \
 && sed -n '/^[a-z0-9]/{ s/\[.*\]//; s/ \\$//; p }' /dist/requirements.lock > /dist/constraints.txt \
 && /opt/crashloop/bin/pip install --no-cache-dir --find-links /dist --constraint /dist/constraints.txt "crashloop[$EXTRA]"

FROM ${BASE}
COPY --from=build /opt/crashloop /opt/crashloop
COPY manifests/in-cluster/kubeconfig.yaml /etc/crashloop/kubeconfig
RUN install --directory --owner=65534 --group=65534 /runs
ENV PATH=/opt/crashloop/bin:/usr/local/bin:/usr/bin:/bin HOME=/tmp KUBECONFIG=/etc/crashloop/kubeconfig CRASHLOOP_RUNS_DIR=/runs
USER 65534:65534
WORKDIR /runs
ENTRYPOINT ["crashloop"]
