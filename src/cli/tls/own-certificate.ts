import { readFile } from 'node:fs/promises'
import { ConfigError } from '../../config/config.ts'
import type { Log } from '../../lib/log/log.ts'
import { type Certificate, parseCertificate } from './certificate.ts'

type Paths = { cert: string; key: string }

/** How often we check whether the files were replaced by a renewed certificate. */
const INTERVAL_MS = 2_000

/** Reads the operator's own certificate. Throws `ConfigError` when it cannot be used. */
export async function readOwnCertificate({ cert, key }: Paths): Promise<Certificate> {
  try {
    return parseCertificate(await readFile(cert, 'utf8'), await readFile(key, 'utf8'))
  } catch (error) {
    throw new ConfigError(
      `TLS_CERT and TLS_KEY cannot be used: ${(error as Error).message.split('\n', 1)[0]}`,
    )
  }
}

/** Calls `use` with each new certificate until `stop`. An invalid one is logged. */
export function watchOwnCertificate(
  paths: Paths,
  current: Certificate,
  use: (certificate: Certificate) => void,
  log: Log,
) {
  let { cert } = current
  let isFailing = false
  let isStopped = false
  const timer = setInterval(check, INTERVAL_MS).unref()
  return { stop, isFailing: () => isFailing }

  function stop() {
    isStopped = true
    clearInterval(timer)
  }

  async function check() {
    try {
      const found = await readOwnCertificate(paths)
      isFailing = false
      if (isStopped || found.cert === cert) return
      use(found)
      cert = found.cert
      log.info({ validTo: found.validTo }, 'using a new certificate')
    } catch (err) {
      // The two files are rarely replaced at the same instant.
      if (!isFailing) log.warn({ err }, 'the new certificate cannot be used: keeping the old one')
      isFailing = true
    }
  }
}
