import { readFile } from 'node:fs/promises'
import { ConfigError } from '../../config.ts'
import type { Log } from '../../lib/log.ts'
import { type Certificate, parseCertificate } from './certificate.ts'

type Paths = { cert: string; key: string }

/** Whoever renews a certificate replaces its files: they are looked at this often, in ms. */
const INTERVAL = 2_000

/** The certificate in files of the operator's. Throws `ConfigError` when there is none to use. */
export async function readOwnCertificate({ cert, key }: Paths): Promise<Certificate> {
  try {
    return parseCertificate(await readFile(cert, 'utf8'), await readFile(key, 'utf8'))
  } catch (error) {
    throw new ConfigError(
      `TLS_CERT and TLS_KEY cannot be used: ${(error as Error).message.split('\n', 1)[0]}`,
    )
  }
}

/** Calls `use` with each new certificate until the returned function is called. One that is no good is told in the log. */
export function watchOwnCertificate(
  paths: Paths,
  current: Certificate,
  use: (certificate: Certificate) => void,
  log: Log,
  interval = INTERVAL,
) {
  let { cert } = current
  let isFailing = false
  const timer = setInterval(look, interval).unref()
  return { stop: () => clearInterval(timer), isFailing: () => isFailing }

  async function look() {
    try {
      const found = await readOwnCertificate(paths)
      isFailing = false
      if (found.cert === cert) return
      use(found)
      cert = found.cert
      log.info({ validTo: found.validTo }, 'a new certificate is used')
    } catch (err) {
      // Its two files are seldom replaced at the same instant.
      if (!isFailing) log.warn({ err }, 'the new certificate cannot be used: the old one stays')
      isFailing = true
    }
  }
}
