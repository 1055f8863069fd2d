/** A page of the fake Stripe. `body` is HTML. */
export function page(title: string, body: string, status = 200): Response {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>
body { font: 16px/1.5 system-ui; max-width: 32em; margin: 3em auto; padding: 0 1em }
button { display: block; width: 100%; margin: .5em 0; padding: .7em; font: inherit }
[role=alert] { color: #b00020 }
</style>
<h1>${escapeHtml(title)}</h1>
${body}
</html>`
  return new Response(html, { status, headers: { 'content-type': 'text/html; charset=utf-8' } })
}

/** Buttons that post `action` to the page itself. */
export function buttons(actions: [action: string, label: string][], extra = ''): string {
  const all = actions.map(
    ([action, label]) => `<button name="action" value="${action}">${escapeHtml(label)}</button>`,
  )
  return `<form method="post">${extra}${all.join('\n')}</form>`
}

export function escapeHtml(text: string): string {
  return Bun.escapeHTML(text)
}

export function redirect(location: string): Response {
  return new Response(null, { status: 303, headers: { location } })
}
