import { inLanguage } from '../../../lib/text/local-text.ts'
import type { Mail } from '../../../platform/outbox/mailer.ts'
import { type MailText, toTexts } from './check-emails.ts'
import { listValues, type MailContent } from './mail-kinds.ts'
import type { MailFrame } from './model.ts'

type Values = Record<string, string>
type LayoutOptions = { frame: MailFrame; language: string; appName: string }

/** The label of the link that works without the app. */
const IN_BROWSER = { en: 'Open in a browser', de: 'Im Browser' }
const ACCENT = '#1d5f8a'
const FONT = "16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
/** Mail programs that drop style sheets show light colors, or choose dark ones themselves. */
const DARK =
  '<style>@media (prefers-color-scheme: dark){.page{background:#15181b!important}.card{background:#1e2225!important;color:#e8eaec!important}.soft{color:#a4adb5!important}.button{border-color:#6b747c!important}}</style>'

/** The text part and the HTML part, from the same texts. Adds the link. */
export function layOutMail(
  content: MailContent,
  { subject, text, button }: MailText,
  { frame, language, appName }: LayoutOptions,
): Omit<Mail, 'to'> {
  const app = frame.appName || appName
  const values = listValues(content, app)
  const { link, page } = content
  const localize = (texts: Record<string, string>) =>
    texts[language] ?? inLanguage(texts, language.split('-')[0] ?? '')
  const paragraphs = text
    .trim()
    .split(/\n\s*\n/)
    // An invitation has no link if no app opens it.
    .filter((paragraph) => link !== undefined || !paragraph.includes('{link}'))
  const hasButton = link !== undefined && (button !== '' || !text.includes('{link}'))
  const links = [
    ...(hasButton ? [{ label: button || app, link }] : []),
    ...(page
      ? [{ label: localize({ ...IN_BROWSER, ...toTexts(frame.browserLink) }), link: page }]
      : []),
  ]
  const footer = fill(localize(toTexts(frame.footer)), values)
  const lines = [
    ...paragraphs.map((paragraph) => fill(paragraph, values)),
    ...links.map(({ label, link }) => `${label}:\n${link}`),
    app,
    ...(footer === '' ? [] : [footer]),
  ]
  const color = frame.accentColor || ACCENT
  const body = [
    ...paragraphs.map((paragraph) => toHtml(paragraph, values)),
    ...links.map(({ label, link }, at) =>
      renderLink(label, link, hasButton && at === 0 ? buttonStyle(color) : ''),
    ),
  ]
  const title = fill(subject, values)
  const html = renderFrame({ title, footer, app, body: body.join('\n') }, language, frame)
  return { subject: title, text: `${lines.join('\n\n')}\n`, html }
}

/** Without a name, the space before `{name}` goes too: "Hello {name}," becomes "Hello,". */
function fill(template: string, values: Values, show = (_name: string, value: string) => value) {
  return template.replace(/( ?)\{(\w+)\}/g, (found, space, name) => {
    if (!Object.hasOwn(values, name)) return found
    const value = values[name] ?? ''
    return name === 'name' && value === '' ? '' : space + show(name, value)
  })
}

/** A paragraph. Every value is escaped; a code alone in its paragraph is large. */
function toHtml(paragraph: string, values: Values): string {
  const codeSize = paragraph.trim() === '{code}' ? ';font-size:32px;line-height:1.25' : ''
  const filled = fill(Bun.escapeHTML(paragraph), values, (name, value) => {
    const safe = Bun.escapeHTML(value)
    if (name === 'link') return `<a href="${safe}" style="color:inherit">${safe}</a>`
    return name === 'code'
      ? `<strong style="letter-spacing:.1em${codeSize}">${safe}</strong>`
      : safe
  })
  const lines = filled.replaceAll('\n', '<br>')
  return `<p style="margin:0 0 16px;overflow-wrap:anywhere">${lines}</p>`
}

function renderLink(label: string, link: string, style: string): string {
  const [text, address] = [label, link].map((one) => Bun.escapeHTML(one))
  return `<p style="margin:24px 0 16px"><a class="button" href="${address}" style="${style || 'color:inherit'}">${text}</a></p>`
}

/** A label in white or black, by contrast (https://www.w3.org/TR/WCAG21/#dfn-relative-luminance). */
function buttonStyle(color: string): string {
  const channels = [1, 3, 5].map((at) => (parseInt(color.slice(at, at + 2), 16) / 255) ** 2.2)
  const [red = 0, green = 0, blue = 0] = channels
  const ink = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#15181b' : '#ffffff'
  return `display:inline-block;padding:12px 24px;border:1px solid ${color};border-radius:8px;background:${color};color:${ink};font-weight:600;text-decoration:none`
}

type Parts = { title: string; app: string; footer: string; body: string }

function renderFrame(parts: Parts, language: string, { logoUrl, alwaysLight }: MailFrame): string {
  const safe = (text: string) => Bun.escapeHTML(text).replaceAll('\n', '<br>')
  const { title, app, footer, body } = parts
  const logo = `<img src="${safe(logoUrl ?? '')}" alt="${safe(app)}" height="32" style="display:block;border:0;max-width:100%">`
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light${alwaysLight ? '' : ' dark'}"><title>${safe(title)}</title>${alwaysLight ? '' : DARK}</head>
<body class="page" style="margin:0;background:#f4f5f7"><div class="page" dir="auto" style="padding:32px 16px;background:#f4f5f7;font:${FONT}">
<div class="card" style="max-width:512px;margin:0 auto;padding:32px 32px 16px;border-radius:12px;background:#ffffff;color:#1b1f23">
<div style="margin:0 0 24px;font-size:18px;font-weight:600">${logoUrl ? logo : safe(app)}</div>
${body}</div>
<p class="soft" style="max-width:512px;margin:16px auto 0;padding:0 32px;font-size:13px;color:#59626b">${safe(footer)}</p></div></body></html>`
}

export function alertMail(
  { to, subject, text }: { to: string; subject: string; text: string },
  appName: string,
): Mail {
  const html = `<!doctype html><html lang="en"><body><p>${Bun.escapeHTML(text)}</p></body></html>`
  return { to, subject: `${appName}: ${subject}`, text: `${text}\n`, html }
}
