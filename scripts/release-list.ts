import { join } from 'node:path'
import { napiName } from './build.ts'
import { ROOT } from './root.ts'

/** A package of the lockfile; `integrity` is a hash in npm's format. */
export type Locked = { name: string; version: string; integrity: string; needs: string[] }

type Lock = {
  workspaces: { '': { dependencies: Record<string, string> } }
  packages: Record<string, [id: string, registry: string, info: Info, integrity: string]>
}
type Info = {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  optionalPeers?: string[]
}

/** All packages by their key in the lockfile: the name, after the name of a dependent that needs another version. */
export async function readLock() {
  const text = await Bun.file(join(ROOT, 'bun.lock')).text()
  const { packages, workspaces } = Bun.JSON5.parse(text) as Lock
  const all = new Map<string, Locked>()
  for (const [place, [id, , info, integrity]] of Object.entries(packages)) {
    const at = id.lastIndexOf('@')
    const needs = Object.keys({ ...info.dependencies, ...info.optionalDependencies })
    all.set(place, { name: id.slice(0, at), version: id.slice(at + 1), integrity, needs })
  }
  return { all, direct: Object.keys(workspaces[''].dependencies) }
}

/** The packages in the executable for a platform (in sharp's notation): all dependencies except those for others. */
export async function packagesFor(platform: string): Promise<Locked[]> {
  const { all, direct } = await readLock()
  const found = new Map<string, Locked>()
  for (const name of direct) visit(name, '')
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))

  function visit(name: string, user: string) {
    if (isNative(name) && !isFor(name, platform)) return
    const own = `${user}/${name}`
    const place = all.has(own) ? own : name
    const locked = all.get(place)
    if (!locked || found.has(place)) return
    found.set(place, locked)
    for (const need of locked.needs) visit(need, place)
  }
}

/** Whether a package holds native code for one platform. */
export function isNative(name: string): boolean {
  return /^@img\/sharp-|^@node-rs\/argon2-/.test(name)
}

function isFor(name: string, platform: string): boolean {
  return name.endsWith(`-${name.startsWith('@img/') ? platform : napiName(platform)}`)
}

/** The image libraries, which must be replaceable; all other packages have permissive licences. */
function isUnderLgpl(name: string): boolean {
  return name === 'libheif-js' || name.startsWith('@img/sharp-libvips-')
}

/** The contents of an executable as an SPDX 2.3 document. */
export function spdxOf(file: string, version: string, created: string, packages: Locked[]) {
  const idOf = (name: string) => `SPDXRef-${name.replaceAll(/[^\w.]+/g, '-')}`
  const root = 'SPDXRef-homeport'
  const entry = (id: string, name: string, versionInfo: string, checksum?: string) => ({
    SPDXID: id,
    name,
    versionInfo,
    licenseDeclared: isUnderLgpl(name) ? 'LGPL-3.0-or-later' : 'NOASSERTION',
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
