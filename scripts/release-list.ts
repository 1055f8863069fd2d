import { join } from 'node:path'
import { napiName } from './build.ts'
import { ROOT } from './root.ts'

/** A package in the lockfile; `integrity` is a hash in npm's format. */
export type LockedPackage = {
  name: string
  version: string
  integrity: string
  dependencies: string[]
}

type Lock = {
  workspaces: { '': { dependencies: Record<string, string> } }
  packages: Record<string, [id: string, registry: string, info: Info, integrity: string]>
}
type Info = {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  optionalPeers?: string[]
}

/**
 * All packages by their key in the lockfile: the name, or `<dependent>/<name>` where a dependent
 * uses a different version.
 */
export async function readLock() {
  const text = await Bun.file(join(ROOT, 'bun.lock')).text()
  const { packages, workspaces } = Bun.JSON5.parse(text) as Lock
  const all = new Map<string, LockedPackage>()
  for (const [key, [id, , info, integrity]] of Object.entries(packages)) {
    const at = id.lastIndexOf('@')
    const dependencies = Object.keys({ ...info.dependencies, ...info.optionalDependencies })
    const [name, version] = [id.slice(0, at), id.slice(at + 1)]
    all.set(key, { name, version, integrity, dependencies })
  }
  return { all, direct: Object.keys(workspaces[''].dependencies) }
}

/**
 * The packages in the executable for a platform (in sharp's notation): all dependencies, except
 * native code for other platforms.
 */
export async function packagesFor(platform: string): Promise<LockedPackage[]> {
  const { all, direct } = await readLock()
  const found = new Map<string, LockedPackage>()
  for (const name of direct) visit(name, '')
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))

  function visit(name: string, dependent: string) {
    if (isNative(name) && !isForPlatform(name, platform)) return
    const nestedKey = `${dependent}/${name}`
    const key = all.has(nestedKey) ? nestedKey : name
    const locked = all.get(key)
    if (!locked || found.has(key)) return
    found.set(key, locked)
    for (const dependency of locked.dependencies) visit(dependency, key)
  }
}

/** Whether a package holds native code for one platform. */
export function isNative(name: string): boolean {
  return /^@img\/sharp-|^@node-rs\/argon2-/.test(name)
}

function isForPlatform(name: string, platform: string): boolean {
  return name.endsWith(`-${name.startsWith('@img/') ? platform : napiName(platform)}`)
}

/**
 * Whether a package is an LGPL image library, which users must be able to replace. All other
 * packages have permissive licences.
 */
function isLgpl(name: string): boolean {
  return name === 'libheif-js' || name.startsWith('@img/sharp-libvips-')
}

/** The contents of an executable as an SPDX 2.3 document. */
export function spdxOf(file: string, version: string, created: string, packages: LockedPackage[]) {
  const idOf = (name: string) => `SPDXRef-${name.replaceAll(/[^\w.]+/g, '-')}`
  const root = 'SPDXRef-homeport'
  const entry = (id: string, name: string, versionInfo: string, checksum?: string) => ({
    SPDXID: id,
    name,
    versionInfo,
    licenseDeclared: isLgpl(name) ? 'LGPL-3.0-or-later' : 'NOASSERTION',
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    ...(checksum ? { checksums: [{ algorithm: 'SHA512', checksumValue: checksum }] } : {}),
  })
  const hexOf = (integrity: string) =>
    Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
  const parts = [
    entry('SPDXRef-bun', 'bun', Bun.version),
    ...packages.map(({ name, version, integrity }) =>
      entry(idOf(`${name}-${version}`), name, version, hexOf(integrity)),
    ),
  ]
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: file,
    documentNamespace: `https://homeport.invalid/spdx/${file}`,
    creationInfo: { created, creators: ['Tool: homeport-release'] },
    packages: [entry(root, 'homeport', version), ...parts],
    relationships: [
      {
        spdxElementId: 'SPDXRef-DOCUMENT',
        relationshipType: 'DESCRIBES',
        relatedSpdxElement: root,
      },
      ...parts.map(({ SPDXID }) => ({
        spdxElementId: root,
        relationshipType: 'CONTAINS',
        relatedSpdxElement: SPDXID,
      })),
    ],
  }
}
