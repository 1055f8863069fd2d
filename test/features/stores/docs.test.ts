import { expect, test } from 'bun:test'

test('the documented Swift, Kotlin and Dart clients refresh an expired token', async () => {
  for (const page of ['app-store-swift', 'google-play-kotlin', 'google-play-flutter']) {
    expect(await Bun.file(`docs/${page}.md`).text()).toContain('token_expired')
  }
})
