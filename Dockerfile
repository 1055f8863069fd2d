# Builds the one file, then puts it alone on a slim system, run by nobody special.
FROM node:22-bookworm-slim AS build
WORKDIR /src
COPY package.json bun.lock ./
RUN npx -y bun@1.4.4 install --frozen-lockfile
COPY . .
RUN npx -y bun@1.4.4 run build

FROM debian:bookworm-slim
# libvips, inside the executable, needs the C++ runtime; https to the rates provider needs the certificates.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libstdc++6 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home homeport \
 && install -d -o homeport -g homeport -m 700 /data
COPY --from=build /src/dist/homeport /usr/local/bin/homeport
USER homeport
ENV DATA_DIR=/data PORT=3000
VOLUME /data
EXPOSE 3000
# Builders of OCI images drop this: docs/deployment.md has the same for the command that runs it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["homeport", "health"]
ENTRYPOINT ["homeport"]
CMD ["serve"]
