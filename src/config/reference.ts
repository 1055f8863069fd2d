import { SETTINGS } from './config.ts'
import type { Setting, Settings } from './setting.ts'

const LINK = /\[([^\]]+)\]\([^)]*\)/g

/** The reference of all settings as a page of the documentation; `introduction` comes before the tables. */
export function settingsPage(introduction: string): string {
  const sections = documented().map(([subject, settings]) => {
    const rows = settings.map((one) => {
      const more = one.page ? ` ([more](${one.page}))` : ''
      return `| \`${one.name}\` | ${describeDefault(one)} | ${one.meaning}${more} |`
    })
    return [`## ${subject}`, '', '| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows]
  })
  return `${[introduction.trim(), ...sections.map((lines) => lines.join('\n'))].join('\n\n')}\n`
}

/** All settings as an environment file in which each is a comment. */
export function exampleEnvironment(): string {
  const sections = documented().map(([subject, settings]) => [
    `# ${subject}`,
    ...settings.flatMap((one) => [`# ${sentenceOf(one)}`, `# ${one.name}=`]),
  ])
  const lines = ['# Copy to .env and set what you need. docs/settings.md says more.']
  return `${[lines, ...sections].map((section) => section.join('\n')).join('\n\n')}\n`
}

/** All settings for the command line. */
export function settingsHelp(): string {
  const sections = documented().map(([subject, settings]) => [
    `${subject}:`,
    ...settings.map((one) => `  ${one.name}\n      ${sentenceOf(one)}`),
  ])
  return sections.map((section) => section.join('\n')).join('\n\n')
}

function documented(): [subject: string, settings: Setting<unknown>[]][] {
  const groups: [string, Settings][] = Object.entries(SETTINGS)
  return groups.map(([subject, group]) => [
    subject,
    Object.values(group).filter(({ isInternal }) => !isInternal),
  ])
}

function sentenceOf(setting: Setting<unknown>): string {
  const { meaning, page } = setting
  const more = page ? ` (docs/${page})` : ''
  const sentence = `${meaning}${more}. Default: ${describeDefault(setting)}.`
  const first = sentence.charAt(0).toUpperCase() + sentence.slice(1)
  return first.replace(LINK, '$1').replaceAll('`', '')
}

function describeDefault({ kind: { fallback }, shown }: Setting<unknown>): string {
  if (shown !== undefined) return shown
  if (typeof fallback === 'boolean') return fallback ? '`on`' : '`off`'
  if (fallback === null || Array.isArray(fallback)) return 'none'
  return `\`${fallback}\``
}
