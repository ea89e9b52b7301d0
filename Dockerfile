# Builds the service, and runs it as a user without privileges who writes to /var/lib/ferry and nowhere else.
# scripts/image-test.py builds and tries it; docs/deploy.md tells how to run it.
#
# The tags name one release each. Where a base is to be pinned to the byte, give its digest as well:
#   docker build --build-arg SWIFT_TAG=6.3.1-bookworm@sha256:… --build-arg DEBIAN_TAG=13.7-slim@sha256:… .
ARG SWIFT_TAG=6.3.1-bookworm
ARG DEBIAN_TAG=13.7-slim

FROM swift:${SWIFT_TAG} AS build
WORKDIR /source
COPY scripts/install-packages.sh scripts/
# Debian's mirrors keep one version of a package: a pinned one would fail on the day of a security update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends make \
    && scripts/install-packages.sh build \
    && rm -rf /var/lib/apt/lists/*
COPY . .
# `ferry --version` tells the commit. There is no git to ask in the context.
ARG REVISION=
# What make dist has in its packages: the same bytes, of the same commit.
RUN COMMIT="${REVISION}" make release \
    && mkdir /out \
    && scripts/strip.sh .build/release/ferry /out/ferry

# Debian 13 has libcurl 8.14. What is built on Debian 12 runs on it.
FROM debian:${DEBIAN_TAG}
# The libraries that the binary names as its own, and the authorities. Swift's are in the binary.
# Their versions are those of the release that the tag names, as above.
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
# Beyond loopback the service wants tokens: FERRY_TOKEN_FILE names a file that user 990 can read, FERRY_TOKENS has them itself.
# SQLite's temporary files may become as large as the database, so they are where that is.
ENV FERRY_LISTEN=0.0.0.0:8080 \
    FERRY_DATA_DIRECTORY=/var/lib/ferry \
    SQLITE_TMPDIR=/var/lib/ferry
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["ferry", "health"]
ENTRYPOINT ["ferry"]
CMD ["serve"]
# Last, so that another revision makes no step anew.
ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="Ferry" \
      org.opencontainers.image.description="URLSession for every program, as a REST service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
