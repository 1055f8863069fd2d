import { describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { type OperatorBrowser, signInOperator } from '../../support/operator.ts'

type Kind = {
  /** The app's endpoint, and the counter that changes with the content. */
  path: string
  counter: 'appSetting' | 'faqs' | null
  /** Returns other valid content, which differs at the path `changed`. */
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own shape
  edit: (content: any, mark: string) => unknown
  changed: string
  // biome-ignore lint/suspicious/noExplicitAny: as above
  spoil: (content: any) => unknown
}

const KINDS: [string, Kind][] = [
  [
    'settings',
    {
      path: '/api/user/app_settings/v1',
      counter: 'appSetting',
      edit: (content, mark) => ({ ...content, termsUrl: `https://example.com/${mark}` }),
      changed: 'termsUrl',
      spoil: (content) => ({ ...content, termsUrl: 'javascript:alert(1)' }),
    },
  ],
  [
    'plans',
    {
      path: '/api/user/pricing_plans/v1',
      counter: null,
      edit: ([free, ...rest], mark) => [{ ...free, paymentProductId: mark }, ...rest],
      changed: 'free.paymentProductId',
      spoil: ([free, ...rest]) => [{ ...free, price: -1 }, ...rest],
    },
  ],
  [
    'faqs',
    {
      path: '/api/user/faqs/v1',
      counter: 'faqs',
      edit: ([first, ...rest], mark) => [{ ...first, category: mark }, ...rest],
      changed: 'How do I cancel my subscription?.category',
      spoil: ([first, ...rest]) => [{ ...first, category: 7 }, ...rest],
    },
  ],
]

describe.each(KINDS)('%s', (kind, { path, counter, edit, changed, spoil }) => {
  test('are published as a version with author, note and differences, on top of the earlier content', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const { version, content, schema } = await ann.read(kind)
    expect([version, typeof schema.type]).toEqual([0, 'string'])
    expect(await ann.read(`${kind}/history`)).toEqual({ versions: [], next: null })
    const json = { base: 0, note: 'For the launch', content: edit(content, 'new') }
    const reply = await ann.ask('POST', `${kind}/publish`, { json })
    expect(reply.json.response).toMatchObject({ version: 2, content: json.content })
    const { versions } = await ann.read(`${kind}/history`)
    const publishedAt = app.clock.now.toISOString()
    const differences = [
      {
        path: changed,
        before: valueAt(content, changed),
        after: valueAt(json.content, changed),
      },
    ]
    expect(versions).toEqual([
      { version: 2, author: 'ann', note: 'For the launch', publishedAt, differences },
      {
        version: 1,
        author: null,
        note: 'Content from before versioning',
        publishedAt,
        differences: [],
      },
    ])
  })

  test('change their own ETag and counter when published, and no others', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const others = KINDS.map(([, other]) => other.path).filter((other) => other !== path)
    const tags = (paths: string[]) =>
      Promise.all(paths.map(async (url) => (await app.ask('GET', url)).headers.get('etag')))
    const [own, foreign] = [await tags([path]), await tags(others)]
    expect(await counters(app)).toEqual({ appSetting: 1, faqs: 1 })
    await publish(ann, kind, edit, 'new')
    expect(await tags([path])).not.toEqual(own)
    expect(await tags(others)).toEqual(foreign)
    const moved = counter === null ? {} : { [counter]: 2 }
    expect(await counters(app)).toEqual({ appSetting: 1, faqs: 1, ...moved })
    const stale = { headers: { 'if-none-match': own[0] ?? '' } }
    expect((await app.ask('GET', path, stale)).status).toBe(200)
  })

  test('are refused for an outdated version, and nothing changes', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    await publish(ann, kind, edit, 'first')
    const before = await readEverything(app, ann, kind, path)
    const content = edit(before.edition.content, 'second')
    for (const base of [0, 1, 3]) {
      const json = { base, note: '', content }
      const refused = await ann.ask('POST', `${kind}/publish`, { json })
      expect([refused.status, refused.json.details]).toEqual([
        409,
        [{ path: 'base', message: 'must be 2' }],
      ])
      const back = await ann.ask('POST', `${kind}/rollback`, {
        json: { base, note: '', version: 1 },
      })
      expect(back.status).toBe(409)
    }
    expect(await readEverything(app, ann, kind, path)).toEqual(before)
  })

  test('published by two operators at the same time succeed once and conflict once', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const bob = await signInOperator(app, { name: 'bob' })
    const { content } = await ann.read(kind)
    const tries = [ann, bob].map((browser, nth) => {
      const json = { base: 0, note: '', content: edit(content, `nth${nth}`) }
      return browser.ask('POST', `${kind}/publish`, { json })
    })
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 409])
    expect((await ann.read(kind)).version).toBe(2)
  })

  test('are refused when invalid, and nothing changes', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const before = await readEverything(app, ann, kind, path)
    for (const content of [spoil(before.edition.content), null, 'text', 7]) {
      const json = { base: 0, note: '', content }
      expect((await ann.ask('POST', `${kind}/publish`, { json })).status).toBe(422)
    }
    const { content } = before.edition
    for (const json of [
      { base: 0, note: 'x'.repeat(501), content },
      { note: 'Without the version that was edited', content },
    ])
      expect((await ann.ask('POST', `${kind}/publish`, { json })).status).toBe(422)
    expect(await readEverything(app, ann, kind, path)).toEqual(before)
  })

  test('are rolled back by publishing an earlier version as a new one', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const first = (await ann.read(kind)).content
    const reply = await app.ask('GET', path)
    await publish(ann, kind, edit, 'first')
    await publish(ann, kind, edit, 'second')
    const back = { base: 3, note: '', version: 1 }
    const rollback = await ann.ask('POST', `${kind}/rollback`, { json: back })
    expect(rollback.json.response).toMatchObject({ version: 4, content: first })
    const again = await app.ask('GET', path)
    expect([again.text, again.headers.get('etag')]).toEqual([reply.text, reply.headers.get('etag')])
    if (counter !== null) expect((await counters(app))[counter]).toBe(4)
    const forward = { base: 4, note: 'It was good', version: 3 }
    await ann.ask('POST', `${kind}/rollback`, { json: forward })
    const { versions } = await ann.read(`${kind}/history`)
    const notes = versions.map(({ version, note }: ListedVersion) => [version, note])
    expect(notes.slice(0, 3)).toEqual([
      [5, 'It was good'],
      [4, 'Rolled back to version 1'],
      [3, 'second'],
    ])
    expect(versions[1].differences).toEqual([
      expect.objectContaining({ path: changed, after: valueAt(first, changed) ?? null }),
    ])
    const unknown = { base: 5, note: '', version: 9 }
    expect((await ann.ask('POST', `${kind}/rollback`, { json: unknown })).status).toBe(404)
  })

  test('have a paged history with the differences of each version', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const { content } = await ann.read(kind)
    for (let nth = 2; nth <= 22; nth++) {
      const json = { base: nth === 2 ? 0 : nth - 1, note: '', content: edit(content, `mark${nth}`) }
      expect((await ann.ask('POST', `${kind}/publish`, { json })).status).toBe(200)
    }
    const pages: ListedVersion[][] = []
    for (let before: number | null = 999; before !== null; ) {
      const page = await ann.read(`${kind}/history?before=${before}`)
      pages.push(page.versions)
      before = page.next
    }
    expect(pages.map(({ length }) => length)).toEqual([20, 2])
    const all = pages.flat()
    expect(all.map(({ version }) => version)).toEqual(Array.from({ length: 22 }, (_, n) => 22 - n))
    for (const { version, differences } of all.slice(0, -1)) {
      expect(differences).toHaveLength(1)
      expect(JSON.stringify(differences[0])).toContain(`mark${version}`)
    }
  })
})

type ListedVersion = { version: number; note: string; differences: object[] }

/** Edits change the first item of a list. */
// biome-ignore lint/suspicious/noExplicitAny: a value of any shape
function valueAt(content: any, path: string): unknown {
  return path
    .split('.')
    .reduce((value, name) => (Array.isArray(value) ? value[0] : value[name]), content)
}

async function publish(browser: OperatorBrowser, kind: string, edit: Kind['edit'], mark: string) {
  const { version, content } = await browser.read(kind)
  const json = { base: version, note: mark, content: edit(content, mark) }
  const { status, text } = await browser.ask('POST', `${kind}/publish`, { json })
  if (status !== 200) throw new Error(text)
}

async function counters(app: TestApp) {
  return (await app.ask('GET', '/api/user/content_version/v1')).json.response
}

/** Everything that a publication changes. */
async function readEverything(app: TestApp, browser: OperatorBrowser, kind: string, path: string) {
  const { text, headers } = await app.ask('GET', path)
  const [edition, history] = [await browser.read(kind), await browser.read(`${kind}/history`)]
  return { edition, history, counters: await counters(app), text, etag: headers.get('etag') }
}
