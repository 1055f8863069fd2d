import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import type { Log } from '../../lib/log/log.ts'
import { tryToListen } from '../server/listener.ts'
import { createAcme } from './acme.ts'
import { type Certificate, describeInvalidity } from './certificate.ts'
import { serveHttpPort } from './http-port.ts'
import { readOwnCertificate, watchOwnCertificate } from './own-certificate.ts'
import { keepCertificate } from './renewal.ts'

export type Tls = {
  isFailing: () => boolean
  /** The expiry of the current certificate; null if there is none. */
  validTo: () => Date | null
  stop: () => Promise<void>
}

/**
 * Passes each certificate to `use`. Null when TLS is off. Throws `ConfigError` for the operator's own certificate, and
 * `CommandError` when it cannot listen.
 */
export async function startTls(
  config: Config,
  use: (certificate: Certificate) => void,
  log: Log,
): Promise<Tls | null> {
  const { tlsCert: cert, tlsKey: key, tlsDomains: domains, httpPort, host, port } = config
  if (cert === null && domains.length === 0) return null
  await using stack = new AsyncDisposableStack()
  const challenges = new Map<string, string>()
  if (httpPort !== null) {
    const plain = { hostname: host, port: httpPort, domains, httpsPort: port, challenges }
    const server = tryToListen(() => serveHttpPort(plain), {
      host,
      port: httpPort,
      name: 'HTTP_PORT',
    })
    stack.defer(() => server.stop())
  }
  let isFailing: () => boolean
  let current: Certificate | null = null
  const invalidity = () => current && describeInvalidity(current, new Date())
  const useAndRecord = (certificate: Certificate) => {
    use(certificate)
    current = certificate
    const reason = invalidity()
    if (reason !== null) log.error(`the certificate ${reason}: clients refuse it`)
  }
  if (cert !== null && key !== null) {
    const paths = { cert, key }
    const certificate = await readOwnCertificate(paths)
    useAndRecord(certificate)
    const watch = watchOwnCertificate(paths, certificate, useAndRecord, log)
    stack.defer(watch.stop)
    isFailing = watch.isFailing
  } else {
    const acme = createConfiguredAcme(config, challenges)
    const renewal = keepCertificate({ acme, use: useAndRecord, log })
    stack.defer(renewal.stop)
    isFailing = renewal.isFailing
  }
  const running = stack.move()
  return {
    isFailing: () => isFailing() || invalidity() !== null,
    validTo: () => current?.validTo ?? null,
    stop: () => running.disposeAsync(),
  }
}

export async function loadCertificate(config: Config): Promise<Certificate | null> {
  const { tlsCert: cert, tlsKey: key } = config
  if (cert !== null && key !== null) return readOwnCertificate({ cert, key })
  return (await createConfiguredAcme(config, new Map()).load())?.certificate ?? null
}

function createConfiguredAcme(
  { dataDir, acmeUrl, tlsDomains }: Config,
  challenges: Map<string, string>,
) {
  const folder = join(dataDir, 'tls')
  return createAcme({ folder, directoryUrl: acmeUrl, domains: tlsDomains, challenges })
}
