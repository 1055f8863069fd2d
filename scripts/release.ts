import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { version } from '../package.json' with { type: 'json' }
import { hashFile } from '../src/lib/crypto/hash.ts'
import { toPublicKey } from '../src/lib/crypto/release-signature.ts'
import { buildExecutable, TARGETS } from './build.ts'
import { buildClient } from './build-client.ts'
import { readBuildInfo } from './build-info.ts'
import { packPackage, writeArchive } from './client-archive.ts'
import { componentsOf, isNative, type LockedPackage, packagesFor, spdxOf } from './release-list.ts'
import { writeSums } from './release-signature.ts'
import { ROOT } from './root.ts'

/**
 * Builds `dist/release`: an executable for each platform with its SPDX document, `SHA256SUMS` signed by `RELEASE_KEY`,
 * the client package for a registry, and the install script. `CLIENT_SCOPE` is the scope of that package: with `@acme`,
 * its name is `@acme/homeport-client`. `--check` builds each executable twice and requires identical bytes. Platform
 * names as arguments select the platforms to build.
 */
const FOLDER = join(ROOT, 'dist', 'release')
const PACKAGES = join(FOLDER, 'packages')
const SECOND_BUILD = join(FOLDER, 'again')
const REGISTRY = 'https://registry.npmjs.org'

const args = process.argv.slice(2)
const isCheck = args.includes('--check')
const chosen = args.filter((word) => !word.startsWith('--'))
const privateKey = process.env['RELEASE_KEY'] || null
pinReleaseKeys()
const { commit, date } = await readBuildInfo()
if (commit === null || date === null) throw new Error('a release must be built from a git commit')
const sums = new Map<string, string>()
const clientName = [readClientScope(), 'homeport-client'].filter(Boolean).join('/')

await rm(FOLDER, { recursive: true, force: true })
for (const [label, { platform, target }] of Object.entries(TARGETS)) {
  if (chosen.length > 0 && !chosen.includes(label)) continue
  const file = `homeport-${version}-${label}`
  const outfile = join(FOLDER, file)
  const packages = await packagesFor(platform)
  for (const locked of packages) if (isNative(locked.name)) await fetchPackage(locked)
  const folderOf = (name: string) => join(PACKAGES, name)
  const build = { platform, target, folderOf }
  await buildExecutable({ ...build, outfile })
  const sum = await hashFile(outfile)
  if (isCheck) {
    // In another folder, because the file contains its own name.
    await buildExecutable({ ...build, outfile: join(SECOND_BUILD, file) })
    if ((await hashFile(join(SECOND_BUILD, file))) !== sum)
      throw new Error(`two builds of ${file} differ`)
  }
  const spdxFile = `${file}.spdx.json`
  const spdx = spdxOf(file, version, date, await componentsOf(packages, folderOf))
  await Bun.write(join(FOLDER, spdxFile), JSON.stringify(spdx, null, 2))
  sums.set(file, sum).set(spdxFile, await hashFile(join(FOLDER, spdxFile)))
  console.log(
    `${file}: ${Math.round(Bun.file(outfile).size / 1e6)} MB${isCheck ? ', reproducible' : ''}`,
  )
}
const clientFile = `${clientName.replace('@', '').replace('/', '-')}-${version}.tgz`
await writeArchive(join(FOLDER, clientFile), await packPackage(await buildClient(clientName)))
sums.set(clientFile, await hashFile(join(FOLDER, clientFile)))
console.log(`${clientFile}: ${clientName}`)
for (const folder of [PACKAGES, SECOND_BUILD]) await rm(folder, { recursive: true, force: true })
await writeSums(FOLDER, { version, commit, date, sums }, privateKey)
if (privateKey === null)
  console.log(
    'NOT signed: "homeport upgrade" and install.sh refuse it. Set RELEASE_KEY to sign the release.',
  )

/**
 * Makes the executables accept later releases that are signed with this release's key or with a key
 * in `RELEASE_PUBLIC_KEY`.
 */
function pinReleaseKeys() {
  const others = (process.env['RELEASE_PUBLIC_KEY'] ?? '').split(',')
  const keys = [...(privateKey ? [toPublicKey(privateKey)] : []), ...others].filter(Boolean)
  process.env['RELEASE_PUBLIC_KEY'] = [...new Set(keys)].join(',')
}

function readClientScope(): string {
  const scope = process.env['CLIENT_SCOPE'] ?? ''
  if (scope === '' || /^@[a-z0-9][a-z0-9._-]*$/.test(scope)) return scope
  throw new Error('CLIENT_SCOPE must be a scope such as @acme')
}

/** Downloads a package for another platform, and unpacks it when it matches the lockfile. */
async function fetchPackage({ name, version: packageVersion, integrity }: LockedPackage) {
  const url = `${REGISTRY}/${name}/-/${name.split('/').at(-1)}-${packageVersion}.tgz`
  const bytes = await (await fetch(url)).bytes()
  const found = `sha512-${new Bun.CryptoHasher('sha512').update(bytes).digest('base64')}`
  if (found !== integrity) throw new Error(`${url} does not match bun.lock`)
  const folder = join(PACKAGES, name)
  await mkdir(folder, { recursive: true })
  await new Bun.Archive(bytes).extract(`${folder}.unpacked`)
  await Bun.$`rm -rf ${folder} && mv ${folder}.unpacked/package ${folder} && rmdir ${folder}.unpacked`.quiet()
}
