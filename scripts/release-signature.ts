import { join } from 'node:path'
import {
  formatSums,
  type Release,
  signSums,
  toPublicKey,
} from '../src/lib/crypto/release-signature.ts'

/** The line in `install.sh` that sets the public key. */
const KEY_LINE = /^key=\$\{RELEASE_PUBLIC_KEY:-\}$/m

/**
 * Writes `SHA256SUMS` and `install.sh` into the folder of a release. With `privateKey`, an Ed25519 key in PEM, signs
 * the sums and puts the public key into the script.
 */
export async function writeSums(folder: string, release: Release, privateKey: string | null) {
  const sums = formatSums(release)
  const script = await Bun.file(join(import.meta.dir, 'install.sh')).text()
  if (!KEY_LINE.test(script)) throw new Error('install.sh has no line for the release key')
  await Bun.write(join(folder, 'SHA256SUMS'), sums)
  const key = privateKey === null ? '' : toPublicKey(privateKey)
  const pinned = script.replace(KEY_LINE, () => `key=\${RELEASE_PUBLIC_KEY:-${key}}`)
  await Bun.write(join(folder, 'install.sh'), pinned)
  if (privateKey !== null)
    await Bun.write(join(folder, 'SHA256SUMS.sig'), signSums(sums, privateKey))
}
