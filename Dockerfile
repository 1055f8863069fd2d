# Cross-compiles the executable for the image's platform and adds only what it needs: the C and C++ runtimes and CA
# certificates, without a shell.
ARG BUILD_BASE=node:22-bookworm-slim
ARG BASE=gcr.io/distroless/cc-debian12
FROM --platform=$BUILDPLATFORM $BUILD_BASE AS build
ARG TARGETARCH
WORKDIR /src
COPY package.json bun.lock ./
# Packages for the image's platform, and for this machine's, on which the TypeScript compiler runs.
RUN CPU=$(echo "$TARGETARCH" | sed s/amd64/x64/) \
 && npx -y bun@1.4.4 install --frozen-lockfile --os linux --cpu "$CPU" --cpu "$(node -p process.arch)"
COPY . .
# The commit that `version` shows, because git is not available here: --build-arg HOMEPORT_COMMIT="$(git log -1 --format='%H %cI')"
ARG HOMEPORT_COMMIT=
ARG RELEASE_PUBLIC_KEY=
RUN CPU=$(echo "$TARGETARCH" | sed s/amd64/x64/) \
 && npx -y bun@1.4.4 scripts/build.ts "linux-$CPU" \
 && mkdir /empty

FROM $BASE
COPY --from=build --chown=10001:10001 --chmod=700 /empty /data
COPY --from=build /src/dist/homeport /usr/local/bin/homeport
USER 10001:10001
ENV DATA_DIR=/data PORT=3000
VOLUME /data
EXPOSE 3000
# OCI image builders drop the health check: docs/deployment.md says what to pass to `podman run` instead.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["homeport", "health"]
ENTRYPOINT ["/usr/local/bin/homeport"]
CMD ["serve"]
