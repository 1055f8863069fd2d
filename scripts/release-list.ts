import { join } from 'node:path'
import { license } from '../package.json' with { type: 'json' }
import { napiName } from './build.ts'
import { ROOT } from './root.ts'

/** A package in the lockfile: `integrity` is a hash in npm's format, `folder` is where it is installed. */
export type LockedPackage = {
  name: string
  version: string
  integrity: string
  dependencies: string[]
  folder: string
}

/** A part of an executable in its SPDX document. */
type Component = {
  name: string
  version: string
  license: string
  purl?: string
  sha512?: string
  /** The component that contains this one, if it is not the executable itself. */
  container?: string
}

type Lock = {
  workspaces: { '': { dependencies: Record<string, string> } }
  packages: Record<string, [id: string, registry: string, info: Info, integrity: string]>
}
type Info = {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
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
    const peers = Object.keys(info.peerDependencies ?? {})
    const dependencies = [
      ...Object.keys({ ...info.dependencies, ...info.optionalDependencies }),
      ...peers.filter((name) => !info.optionalPeers?.includes(name)),
    ]
    const [name, version] = [id.slice(0, at), id.slice(at + 1)]
    const folders = (key.match(/(@[^/]+\/)?[^/]+/g) ?? []).map((part) => join('node_modules', part))
    all.set(key, { name, version, integrity, dependencies, folder: join(ROOT, ...folders) })
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
  // Two dependents may each have their own copy of the same version.
  const unique = new Map([...found.values()].map((locked) => [idOf(locked), locked]))
  return [...unique.values()].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

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

function idOf({ name, version }: { name: string; version: string }): string {
  return `${name}@${version}`
}

/**
 * The parts of an executable: the Bun runtime, its packages, and the libraries inside the packages of libvips.
 * `folderOf` returns where native packages are.
 */
export async function componentsOf(
  packages: LockedPackage[],
  folderOf: (name: string) => string,
): Promise<Component[]> {
  const purlOf = (id: string) => `pkg:npm/${id.replace(/^@/, '%40')}`
  // Bun's own code, and the JavaScript engine that it links statically.
  const license = 'MIT AND LGPL-2.0-or-later'
  const bun = { name: 'bun', version: Bun.version }
  const components: Component[] = [{ ...bun, license, purl: purlOf(idOf(bun)) }]
  for (const locked of packages) {
    const { name, version, integrity } = locked
    const folder = isNative(name) ? folderOf(name) : locked.folder
    const { license: declared } = await Bun.file(join(folder, 'package.json')).json()
    if (typeof declared !== 'string') throw new Error(`${name} declares no licence`)
    const sha512 = Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
    components.push({ name, version, license: declared, sha512, purl: purlOf(idOf(locked)) })
    if (!name.startsWith('@img/sharp-libvips-')) continue
    const libraries: Record<string, string> = await Bun.file(join(folder, 'versions.json')).json()
    for (const [library, version] of Object.entries(libraries)) {
      // The README of the package describes the licences of the others, without SPDX identifiers.
      const own = library === 'vips' ? declared : 'NOASSERTION'
      components.push({ name: library, version, license: own, container: idOf(locked) })
    }
  }
  return components
}

/** The contents of an executable as an SPDX 2.3 document. */
export function spdxOf(file: string, version: string, date: string, components: Component[]) {
  const root = { name: 'homeport', version, license }
  const spdxIdOf = (id: string) => `SPDXRef-${id.replaceAll(/[^a-zA-Z0-9.]+/g, '-')}`
  const entry = ({ license, purl, sha512, container, ...part }: Component) => ({
    SPDXID: spdxIdOf(container ? `${container}-${idOf(part)}` : idOf(part)),
    name: part.name,
    versionInfo: part.version,
    licenseDeclared: license,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    ...(sha512 ? { checksums: [{ algorithm: 'SHA512', checksumValue: sha512 }] } : {}),
    ...(purl
      ? {
          externalRefs: [
            {
              referenceCategory: 'PACKAGE-MANAGER',
              referenceType: 'purl',
              referenceLocator: purl,
            },
          ],
        }
      : {}),
  })
  const relate = (spdxElementId: string, relationshipType: string, relatedSpdxElement: string) => ({
    spdxElementId,
    relationshipType,
    relatedSpdxElement,
  })
  const rootId = spdxIdOf(idOf(root))
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: file,
    documentNamespace: `https://homeport.invalid/spdx/${file}`,
    // SPDX times have no fractions of a second.
    creationInfo: { created: date.replace(/\.\d+Z$/, 'Z'), creators: ['Tool: homeport-release'] },
    packages: [root, ...components].map(entry),
    relationships: [
      relate('SPDXRef-DOCUMENT', 'DESCRIBES', rootId),
      ...components.map((component) => {
        const container = component.container ? spdxIdOf(component.container) : rootId
        return relate(container, 'CONTAINS', entry(component).SPDXID)
      }),
    ],
  }
}
