import { SETTINGS } from './config.ts'
import type { Setting, Settings } from './setting.ts'

const LINK = /\[([^\]]+)\]\([^)]*\)/g

export function settingsHelp(): string {
  const sections = listDocumented().map(([subject, settings]) => [
    `${subject}:`,
    ...settings.map((one) => `  ${one.name}\n      ${toSentence(one)}`),
  ])
  return sections.map((section) => section.join('\n')).join('\n\n')
}

/** All settings except those for tests. */
export function listDocumented(): [subject: string, settings: Setting<unknown>[]][] {
  const groups: [string, Settings][] = Object.entries(SETTINGS)
  return groups.map(([subject, group]) => [
    subject,
    Object.values(group).filter(({ isInternal }) => !isInternal),
  ])
}

/** Says what a setting is for, as plain text. */
export function toSentence(setting: Setting<unknown>): string {
  const { meaning, page } = setting
  const more = page ? ` (docs/${page})` : ''
  const sentence = `${meaning}${more}. Default: ${describeDefault(setting)}.`
  const first = sentence.charAt(0).toUpperCase() + sentence.slice(1)
  return first.replace(LINK, '$1').replaceAll('`', '')
}

export function describeDefault({ kind: { fallback }, shown }: Setting<unknown>): string {
  if (shown !== undefined) return shown
  if (typeof fallback === 'boolean') return fallback ? '`on`' : '`off`'
  if (fallback === null || Array.isArray(fallback)) return 'none'
  return `\`${fallback}\``
}
