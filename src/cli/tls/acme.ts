import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'acme-client'
import { makeFolder, writeDurably } from '../../lib/durable-file.ts'
import { type Certificate, parseCertificate } from './certificate.ts'

type AcmeDeps = {
  /** Where the key of the account, the certificate and its key are kept. */
  folder: string
  directoryUrl: string
  domains: string[]
  /** What `/.well-known/acme-challenge/<token>` on port 80 answers. */
  challenges: Map<string, string>
}

/** Bytes, and ms without a reply. */
const REPLY_LIMITS = { maxContentLength: 256 * 1024, timeout: 30_000 }

export type Acme = ReturnType<typeof createAcme>

/** Certificates from a certificate authority that speaks ACME (RFC 8555), by http-01. */
export function createAcme({ folder, directoryUrl, domains, challenges }: AcmeDeps) {
  const paths = { cert: join(folder, 'certificate.json'), account: join(folder, 'account.pem') }
  return { load, obtain }

  /** The certificate that is kept; null when there is none for all of the domains. */
  async function load(): Promise<Certificate | null> {
    try {
      const [cert = '', key = '', names] = JSON.parse(await readFile(paths.cert, 'utf8'))
      return String(names) === String(domains) ? parseCertificate(cert, key) : null
    } catch {
      return null
    }
  }

  /** Gets a new certificate and keeps it. Throws what the authority says against it. */
  async function obtain(): Promise<Certificate> {
    // Loaded when it is needed: most of the time it is not.
    const { Client, crypto, axios } = await import('acme-client')
    Object.assign(axios.defaults, REPLY_LIMITS)
    await makeFolder(folder)
    const client = new Client({
      directoryUrl,
      accountKey: await accountKey(crypto),
      backoffAttempts: 10,
    })
    const [key, csr] = await crypto.createCsr(
      { altNames: domains },
      await crypto.createPrivateEcdsaKey(),
    )
    const cert = await order(client, csr)
    const certificate = parseCertificate(cert, key.toString())
    // One file: a power cut never leaves the one without the other.
    await writeDurably(paths.cert, JSON.stringify([cert, certificate.key, domains]))
    return certificate
  }

  function order(client: Client, csr: Buffer): Promise<string> {
    return client.auto({
      csr,
      termsOfServiceAgreed: true,
      challengePriority: ['http-01'],
      // From here our own name may not be reachable though it is for everybody else.
      skipChallengeVerification: true,
      challengeCreateFn: async (_authorization, { token }, answer) => {
        challenges.set(token, answer)
      },
      challengeRemoveFn: async (_authorization, { token }) => {
        challenges.delete(token)
      },
    })
  }

  async function accountKey(crypto: typeof import('acme-client')['crypto']): Promise<Buffer> {
    const kept = await readFile(paths.account).catch(() => null)
    if (kept) return kept
    const made = await crypto.createPrivateEcdsaKey()
    await writeDurably(paths.account, made)
    return made
  }
}
