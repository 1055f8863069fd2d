import { languageName } from '../../lib/text/rule-labels.ts'
import { value as formatValue, number } from '../format.ts'
import { Badge, Details, Empty, type Fact } from '../ui/parts.tsx'
import type { Schema } from '../ui/schema-fields.tsx'
import { fieldLabel } from './field-labels.ts'
import { isLocalText, toTexts } from './form.tsx'

type Tree = Record<string, unknown>

type ValuesProps = {
  schema: Schema
  content: unknown
  nameOf: (record: Tree) => string
}

/** The published content for readers: plain values instead of a form. */
export function Values({ schema, content, nameOf }: ValuesProps) {
  const item = schema.items ?? schema
  const isEmpty = Object.keys(content ?? {}).length === 0
  return (
    <>
      <p class="notice">
        <Badge>Read-only</Badge> Your role is reader. Operators and owners can edit and publish.
      </p>
      {!Array.isArray(content) && !isEmpty && (
        <section class="card" aria-label="Published values">
          <Details items={listFacts(schema, content)} />
        </section>
      )}
      {isEmpty && <Empty>Nothing published yet.</Empty>}
      {Array.isArray(content) &&
        content.map((record, at) => (
          <details class="card" key={at}>
            <summary>{nameOf(record)}</summary>
            <Details items={listFacts(item, record)} />
          </details>
        ))}
    </>
  )
}

function listFacts(schema: Schema, value: unknown, prefix = ''): Fact[] {
  const tree = (value ?? {}) as Tree
  return Object.entries(tree).flatMap(([name, part]): Fact[] => {
    const partSchema = schema.properties?.[name] ?? {}
    const label = prefix === '' ? fieldLabel(name) : `${prefix}: ${fieldLabel(name)}`
    if (name.startsWith('_')) return []
    if (isLocalText(partSchema)) return textFacts(label, part)
    if (Array.isArray(part)) {
      if (!isLocalText(partSchema.items ?? {})) return [[label, part.join(', ') || '–']]
      return part.flatMap((line, at) => textFacts(`${label}, line ${at + 1}`, line))
    }
    const isNested = partSchema.type === 'object' && part !== null && typeof part === 'object'
    if (isNested) return listFacts(partSchema, part, label)
    // A build number is a name rather than an amount.
    const isAmount = typeof part === 'number' && !/build/i.test(name)
    return [[label, isAmount ? number(part) : formatValue(part)]]
  })
}

function textFacts(label: string, value: unknown): Fact[] {
  const texts = Object.entries(toTexts(value))
  if (texts.length === 0) return [[label, '–']]
  return texts.map(([language, text]) => [
    `${label} (${languageName(language)})`,
    <span key={language} lang={language}>
      {text}
    </span>,
  ])
}
