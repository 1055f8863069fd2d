import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'acme-client'
import { LETS_ENCRYPT } from '../../config/subjects/network.ts'
import { makeFolder, writeDurably } from '../../lib/files/durable-file.ts'
import { type Certificate, parseCertificate } from './certificate.ts'

type AcmeDeps = {
  /** Holds the account key, the certificate and its key. */
  folder: string
  directoryUrl: string
  domains: string[]
  /** The responses to requests for `/.well-known/acme-challenge/<token>` on port 80, by token. */
  challenges: Map<string, string>
}

/** In bytes and ms. acme-client's own retries would sleep for hours when rate-limited, and hide why. */
const REQUEST_LIMITS = {
  maxContentLength: 256 * 1024,
  timeout: 30_000,
  acmeSettings: { retryMaxAttempts: 0 },
}

export type Acme = ReturnType<typeof createAcme>

/** ACME (RFC 8555) with http-01 challenges. */
export function createAcme({ folder, directoryUrl, domains, challenges }: AcmeDeps) {
  const paths = {
    cert: join(folder, 'certificate.json'),
    account: join(folder, 'account.pem'),
    pending: join(folder, 'pending-key.pem'),
  }
  return { load, obtain }

  /** `isAsConfigured`: issued by this authority for exactly these domains. Early versions did not store it. */
  async function load(): Promise<{ certificate: Certificate; isAsConfigured: boolean } | null> {
    try {
      const [cert = '', key = '', names, authority = LETS_ENCRYPT] = JSON.parse(
        await readFile(paths.cert, 'utf8'),
      )
      const isAsConfigured = String(names) === String(domains) && authority === directoryUrl
      return { certificate: parseCertificate(cert, key), isAsConfigured }
    } catch {
      return null
    }
  }

  /** Obtains and stores a new certificate. Throws the authority's error. */
  async function obtain(): Promise<Certificate> {
    // Loaded lazily: most of the time it is not needed.
    const { Client, crypto, axios } = await import('acme-client')
    Object.assign(axios.defaults, REQUEST_LIMITS)
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
    // Written first, so that a full disk does not use up the authority's rate limit.
    await writeDurably(paths.pending, key)
    const cert = await order(client, csr).catch(explainFailure)
    const certificate = parseCertificate(cert, key.toString())
    // In one file, so that a power cut never leaves a certificate without its key.
    await writeDurably(paths.cert, JSON.stringify([cert, certificate.key, domains, directoryUrl]))
    await rm(paths.pending, { force: true })
    return certificate
  }

  /** acme-client fails with a TypeError when there is no response. */
  function explainFailure(cause: unknown): never {
    if (!(cause instanceof TypeError)) throw cause
    throw new Error(`${new URL(directoryUrl).host} does not respond: check the network and DNS.`, {
      cause,
    })
  }

  function order(client: Client, csr: Buffer): Promise<string> {
    return client.auto({
      csr,
      termsOfServiceAgreed: true,
      challengePriority: ['http-01'],
      // Our own domain may be unreachable from here, although the authority can reach it.
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
    const existing = await readFile(paths.account).catch(() => null)
    if (existing) return existing
    const created = await crypto.createPrivateEcdsaKey()
    await writeDurably(paths.account, created)
    return created
  }
}
