import { useId, useRef } from 'preact/hooks'
import { countryName, languageName } from '../../lib/text/rule-labels.ts'
import { Field } from '../ui/fields.tsx'

/** A shorter text may be an unknown code instead. */
const MIN_BEGINNING = 3

/** Codes with their names, such as `DE` for Germany. */
type CodeNames = { nameOf: (code: string) => string; codes: () => string[] }

/** ISO 3166 codes that are not countries. */
const NO_COUNTRIES = ['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ']
const REGIONAL_LANGUAGES =
  'de-AT de-CH en-AU en-CA en-GB en-US es-419 es-ES es-MX fr-CA pt-BR pt-PT zh-Hans zh-Hant'
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']
const PAIRS = LETTERS.flatMap((first) => LETTERS.map((second) => first + second))

export const COUNTRIES: CodeNames = {
  nameOf: countryName,
  codes: once(() =>
    PAIRS.map((pair) => pair.toUpperCase()).filter(
      (code) =>
        countryName(code) !== code && isCurrent(`und-${code}`) && !NO_COUNTRIES.includes(code),
    ),
  ),
}

export const LANGUAGES: CodeNames = {
  nameOf: languageName,
  codes: once(() => [
    ...PAIRS.filter((tag) => languageName(tag) !== tag && isCurrent(tag)),
    ...REGIONAL_LANGUAGES.split(' '),
  ]),
}

type CodesProps = {
  label: string
  path: string
  warning?: string | undefined
  names: CodeNames
  placeholder: string
  codes: string[]
  onChange: (codes: string[]) => void
}

export function CodesField(props: CodesProps) {
  const { label, path, warning, names, placeholder, codes, onChange } = props
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const remove = (code: string) => {
    onChange(codes.filter((other) => other !== code))
    // An error about the removed code is resolved.
    input.current?.dispatchEvent(new Event('input', { bubbles: true }))
    input.current?.focus()
  }
  return (
    <div class="field">
      <Field label={label} warning={findUnknown(codes, names) ?? warning} path={path}>
        <input
          ref={input}
          list={id}
          placeholder={placeholder}
          autocomplete="off"
          onChange={({ currentTarget }) => {
            const entered = parseCodes(currentTarget.value, names)
            onChange([...new Set([...codes, ...entered])])
            currentTarget.value = ''
          }}
        />
      </Field>
      <datalist id={id}>
        {names.codes().map((code) => (
          <option key={code} value={names.nameOf(code)} label={code} />
        ))}
      </datalist>
      {codes.length > 0 && (
        <ul class="chips" aria-label={`Selected: ${label}`}>
          {codes.map((code) => (
            <li key={code} class="badge">
              {names.nameOf(code)}
              <button
                type="button"
                class="quiet"
                aria-label={`Remove ${names.nameOf(code)}`}
                onClick={() => remove(code)}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** Parses `Germany, at`, and the beginning of an unambiguous name. Keeps unknown words, which the field warns about. */
export function parseCodes(text: string, { nameOf, codes }: CodeNames): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
    .map((word) => {
      const typed = word.toLowerCase()
      const matches = (name: string) => name.toLowerCase() === typed
      const match = codes().find((code) => matches(code) || matches(nameOf(code)))
      if (match !== undefined || typed.length < MIN_BEGINNING) return match ?? word
      const similar = codes().filter((code) => nameOf(code).toLowerCase().startsWith(typed))
      return similar.length === 1 && similar[0] !== undefined ? similar[0] : word
    })
}

/** A warning about unknown codes; undefined if there are none. */
function findUnknown(chosen: string[], { nameOf, codes }: CodeNames): string | undefined {
  const unknown = chosen.filter((code) => nameOf(code) === code && !codes().includes(code))
  if (unknown.length === 0) return undefined
  return `Unknown: ${unknown.join(', ')}. Remove it and choose from the list.`
}

/** Whether a tag is still current; that of the GDR, for example, has been replaced. */
function isCurrent(tag: string): boolean {
  return Intl.getCanonicalLocales(tag)[0] === tag
}

function once<Value>(compute: () => Value): () => Value {
  let value: Value | undefined
  return () => {
    value ??= compute()
    return value
  }
}
