# Builds the service, and runs it as a user without privileges who can write to /var/lib/ferry only.
# scripts/image-test.py builds and tests the image. docs/deploy.md explains how to run it.
#
# Each tag names one release. To pin an exact image, add its digest:
#   docker build --build-arg SWIFT_TAG=6.3.1-bookworm@sha256:… --build-arg DEBIAN_TAG=13.7-slim@sha256:… .
ARG SWIFT_TAG=6.3.1-bookworm
ARG DEBIAN_TAG=13.7-slim

FROM swift:${SWIFT_TAG} AS build
WORKDIR /source
COPY scripts/install-packages.sh scripts/
# Debian's mirrors have one version of each package, so a pinned version would fail after a security update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends make \
    && scripts/install-packages.sh build \
    && rm -rf /var/lib/apt/lists/*
COPY . .
# The commit for `ferry --version`. The build context has no git repository.
ARG REVISION=
# Builds the same bytes as make dist does from this commit.
RUN COMMIT="${REVISION}" make release \
    && mkdir /out \
    && scripts/strip.sh .build/release/ferry /out/ferry

# Debian 13 has libcurl 8.14. A binary from Debian 12 runs on it.
FROM debian:${DEBIAN_TAG}
# The libraries that the binary needs, and the certificate authorities. Swift's libraries are in the binary.
# As above, the release of the tag determines the versions.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
      ca-certificates libbrotli1 libcurl4t64 libgcc-s1 libgssapi-krb5-2 libmicrohttpd12t64 libpsl5t64 \
      libsqlite3-0 libssl3t64 libstdc++6 libzstd1 zlib1g \
    && groupadd --system --gid 990 ferry \
    && useradd --system --uid 990 --gid 990 --no-create-home --home-dir /var/lib/ferry --shell /usr/sbin/nologin ferry \
    && install -d -o 990 -g 990 -m 0700 /var/lib/ferry \
    && rm -rf /var/lib/apt/lists/* /var/cache/ldconfig/aux-cache /var/log/apt /var/log/dpkg.log
COPY --from=build /out/ferry /usr/local/bin/ferry
USER 990:990
WORKDIR /var/lib/ferry
VOLUME /var/lib/ferry
EXPOSE 8080
# Beyond loopback, the service requires tokens: FERRY_TOKEN_FILE names a file that user 990 can read, or FERRY_TOKENS has the
# tokens.
# SQLite's temporary files may become as large as the database, so they are in its directory.
ENV FERRY_LISTEN=0.0.0.0:8080 \
    FERRY_DATA_DIRECTORY=/var/lib/ferry \
    SQLITE_TMPDIR=/var/lib/ferry
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["ferry", "health"]
ENTRYPOINT ["ferry"]
CMD ["serve"]
# The labels come last, so that another revision reuses all cached steps.
ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="Ferry" \
      org.opencontainers.image.description="URLSession for every program, as a REST service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
