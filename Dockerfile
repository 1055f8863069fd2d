# Builds the one file for the platform of the image, wherever it is built, and puts it alone on what it needs: the C and
# C++ runtimes, certificates to check others by, and no shell.
ARG BUILD_BASE=node:22-bookworm-slim
ARG BASE=gcr.io/distroless/cc-debian12
FROM --platform=$BUILDPLATFORM $BUILD_BASE AS build
ARG TARGETARCH
WORKDIR /src
COPY package.json bun.lock ./
RUN CPU=$(echo "$TARGETARCH" | sed s/amd64/x64/) \
 && npx -y bun@1.4.4 install --frozen-lockfile --os linux --cpu "$CPU"
COPY . .
# What the version says, for git is not here: --build-arg HOMEPORT_COMMIT="$(git log -1 --format='%H %cI')"
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
# Builders of OCI images drop this: docs/deployment.md has the same for the command that runs it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["homeport", "health"]
ENTRYPOINT ["/usr/local/bin/homeport"]
CMD ["serve"]
