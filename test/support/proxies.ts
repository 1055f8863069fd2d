import { join } from 'node:path'
import { freePort } from './executable.ts'
import { until } from './until.ts'

type Proxy = { url: string } & AsyncDisposable

/** nginx in front of `port` with keep-alive connections, configured as in docs/deployment.md. */
export async function startNginx(folder: string, port: number): Promise<Proxy> {
  const proxyPort = freePort()
  const file = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/nginx-${name};`)
    .join(' ')
  await Bun.write(
    file,
    `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log warn; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; ${temporary}
  upstream homeport { server 127.0.0.1:${port}; keepalive 32; }
  server {
    listen 127.0.0.1:${proxyPort};
    location / {
      proxy_pass http://homeport;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}`,
  )
  return start(['nginx', '-e', join(folder, 'nginx.log'), '-c', file, '-p', folder], proxyPort)
}

/** Caddy in front of `port`, configured as in docs/deployment.md. */
export async function startCaddy(folder: string, port: number): Promise<Proxy> {
  const proxyPort = freePort()
  const file = join(folder, 'Caddyfile')
  const global = `{\n  admin off\n  auto_https off\n}`
  await Bun.write(
    file,
    `${global}\nhttp://127.0.0.1:${proxyPort} {\n  reverse_proxy 127.0.0.1:${port} {\n    lb_try_duration 15s\n  }\n}\n`,
  )
  return start(['caddy', 'run', '--adapter', 'caddyfile', '--config', file], proxyPort, {
    HOME: folder,
  })
}

async function start(
  command: string[],
  port: number,
  environment: Record<string, string> = {},
): Promise<Proxy> {
  const program = Bun.spawn(command, {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const url = `http://127.0.0.1:${port}`
  const isReady = async () => (await fetch(`${url}/health`).catch(() => null))?.ok
  await until(isReady, `${command[0]} does not pass requests on`)
  return {
    url,
    async [Symbol.asyncDispose]() {
      program.kill('SIGTERM')
      await program.exited
    },
  }
}
