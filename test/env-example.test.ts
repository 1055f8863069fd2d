import { expect, test } from 'bun:test'

test('.env.example has every variable of the README', async () => {
  const [readme, example] = await Promise.all(
    ['README.md', '.env.example'].map((path) => Bun.file(path).text()),
  )
  const rows = readme?.match(/^\| `[A-Z][A-Z0-9_]+`.*? \|/gm) ?? []
  const documented = rows.flatMap((row) => row.match(/[A-Z][A-Z0-9_]+/g) ?? [])
  const listed = example?.match(/(?<=^# )[A-Z][A-Z0-9_]+(?==)/gm) ?? []
  expect(listed.toSorted()).toEqual(documented.toSorted())
})
