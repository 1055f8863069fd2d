import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'
import { writeSums } from '../../scripts/release-signature.ts'
import { hashFile } from '../../src/lib/crypto/hash.ts'

const KEYS = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
x509.cryptoProvider.set(crypto)

type Version = { version: string; commit: string; date: string }

/** Serves a folder over https; clients that trust `authority` accept its certificate. */
export async function startReleaseServer() {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-release-'))
  const keys = await crypto.subtle.generateKey(KEYS, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=127.0.0.1',
    keys,
    signingAlgorithm: KEYS,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
    ],
  })
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  const authority = join(folder, 'authority.pem')
  await Bun.write(authority, certificate.toString('pem'))
  const redirects = new Map<string, string>()
  const fetch = (request: Request) => answer(new URL(request.url).pathname)
  const tls = {
    cert: certificate.toString('pem'),
    key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'),
  }
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, tls, fetch })
  const plain = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch })
  return {
    folder,
    url: `https://127.0.0.1:${server.port}`,
    plainUrl: `http://127.0.0.1:${plain.port}`,
    authority,
    redirects,
    publish,
    async [Symbol.asyncDispose]() {
      await Promise.all([server.stop(true), plain.stop(true)])
      await rm(folder, { recursive: true, force: true })
    },
  }

  /** Writes `install.sh` and the checksums of all files in the folder, signed with `privateKey`, as in a release. */
  async function publish(version: Version, privateKey: string | null) {
    const names = (await readdir(folder)).filter((name) => name.startsWith('homeport-'))
    const sums = new Map<string, string>()
    for (const name of names) sums.set(name, await hashFile(join(folder, name)))
    await writeSums(folder, { ...version, sums }, privateKey)
  }

  async function answer(path: string): Promise<Response> {
    const location = redirects.get(path)
    if (location) return new Response(null, { status: 302, headers: { location } })
    const file = Bun.file(join(folder, path))
    return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 })
  }
}
