import { tryTo } from '../../../lib/errors.ts'

/** The body of a request or a response, which may be JSON. */
export function Body({ name, text }: { name: string; text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard
    <section aria-label={name} class="body" tabIndex={0}>
      <pre>{pretty(text)}</pre>
    </section>
  )
}

function pretty(body: string): string {
  return tryTo(() => JSON.stringify(JSON.parse(body), null, 2)) ?? body
}
