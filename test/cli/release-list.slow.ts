import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { embedNative } from '../../scripts/build.ts'
import { componentsOf, packagesFor, spdxOf } from '../../scripts/release-list.ts'
import { ROOT } from '../../scripts/root.ts'

const FILE = 'homeport-9.0.0-linux-x64'
const PLATFORM = `${process.platform}-${process.arch}`
const { resolve } = createRequire(import.meta.url)
const folderOf = (name: string) => dirname(resolve(`${name}/package`))

async function readSpdx() {
  const components = await componentsOf(await packagesFor(PLATFORM), folderOf)
  return spdxOf(FILE, '9.0.0', '2030-01-01T00:00:00.000Z', components)
}

test('the SPDX document lists every package in the executable', async () => {
  const { metafile } = await Bun.build({
    entrypoints: ['src/main.ts', 'src/console/main.tsx'].map((path) => join(ROOT, path)),
    plugins: [embedNative(PLATFORM, folderOf)],
    target: 'bun',
    metafile: true,
  })
  const embedded = new Set<string>()
  for (const path of Object.keys(metafile?.inputs ?? {})) {
    const [folder] = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path) ?? []
    if (!folder) continue
    const text = readFileSync(
      join(ROOT, folder.replace(/^.*?(?=node_modules)/, ''), 'package.json'),
    )
    const { name, version } = JSON.parse(text.toString())
    embedded.add(`${name}@${version}`)
  }
  expect(embedded.size).toBeGreaterThan(100)
  const listed = (await readSpdx()).packages.map(
    ({ name, versionInfo }) => `${name}@${versionInfo}`,
  )
  expect([...embedded].filter((id) => !listed.includes(id))).toEqual([])
})

test('the SPDX document lists Bun and libvips, with licences', async () => {
  const { packages } = await readSpdx()
  expect(packages.find(({ name }) => name === 'bun')).toMatchObject({
    versionInfo: Bun.version,
    licenseDeclared: 'MIT AND LGPL-2.0-or-later',
    externalRefs: [{ referenceLocator: `pkg:npm/bun@${Bun.version}` }],
  })
  const versions = await Bun.file(
    join(folderOf(`@img/sharp-libvips-${PLATFORM}`), 'versions.json'),
  ).json()
  expect(packages.find(({ name }) => name === 'vips')).toMatchObject({
    versionInfo: versions.vips,
    licenseDeclared: 'LGPL-3.0-or-later',
  })
  const withoutLicense = packages.filter(({ licenseDeclared }) => licenseDeclared === 'NOASSERTION')
  expect(withoutLicense.map(({ name }) => name)).toEqual(
    Object.keys(versions).filter((name) => name !== 'vips'),
  )
})

test('the SPDX document is valid: its ids are unique, and its time has no fraction', async () => {
  const { SPDXID, packages, relationships, creationInfo } = await readSpdx()
  const ids = [SPDXID, ...packages.map((part) => part.SPDXID)]
  expect(
    ids.filter((id, at) => !/^SPDXRef-[a-zA-Z0-9.-]+$/.test(id) || ids.indexOf(id) < at),
  ).toEqual([])
  const ends = relationships.flatMap((part) => [part.spdxElementId, part.relatedSpdxElement])
  expect(new Set(ends)).toEqual(new Set(ids))
  expect(creationInfo.created).toBe('2030-01-01T00:00:00Z')
})
