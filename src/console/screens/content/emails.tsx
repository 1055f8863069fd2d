import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type builtInEmails from '../../../features/users/email/built-in-emails.json'
import type { PublishedEmails } from '../../../features/users/email/emails.ts'
import { languageName } from '../../../lib/text/rule-labels.ts'
import { apiAddress, type ReplyOf, send } from '../../api.ts'
import { Fields, toTexts } from '../../editing/form.tsx'
import { Group } from '../../editing/group.tsx'
import { Publishing } from '../../editing/publishing.tsx'
import { Languages } from '../../editing/records.tsx'
import { words } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { SelectField } from '../../ui/fields.tsx'
import { Card } from '../../ui/parts.tsx'
import { problemsAt, useProblems } from '../../ui/problems.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import type { Schema } from '../../ui/schema-fields.tsx'

type BuiltIn = typeof builtInEmails
type Kind = keyof BuiltIn['kinds']
type Rendered = ReplyOf<PublishedEmails['preview']>
type Texts = Record<string, unknown>
/** The frame, and the texts of the e-mails that do not use the built-in ones. */
type Content = Record<string, Texts>
type Choice = { kind: Kind; language: string }
type ChoiceProps = {
  content: Content
  builtIn: BuiltIn
  choice: Choice
  choose: (choice: Choice) => void
}

const FIELDS = ['subject', 'text', 'button']
const VIEWS = ['Light', 'Dark', 'Plain text']

export function Screen() {
  const remote = useRemote<BuiltIn>('emails/built-in')
  const [choice, choose] = useState<Choice>({ kind: 'verify-email', language: 'en' })
  const show = (builtIn: BuiltIn) => (
    <Publishing<Content>
      kind="emails"
      title="E-mails"
      preview={(content) => <Preview {...{ content, builtIn, choice, choose }} />}
    >
      {({ draft, ...editor }) => (
        <Editor content={draft} {...{ ...editor, builtIn, choice, choose }} />
      )}
    </Publishing>
  )
  return <Loaded from={remote}>{show}</Loaded>
}

type EditorProps = ChoiceProps & { setDraft: (draft: Content) => void; schema: Schema }

/** The texts of an e-mail in a language. Editing a built-in text replaces it. */
function Editor({ setDraft, schema, ...chosen }: EditorProps) {
  const { content, builtIn, choice, choose } = chosen
  const { kind, language } = choice
  const { [kind]: own, ...others } = content
  const { occasion, placeholders } = builtIn.kinds[kind]
  const [invalid] = problemsAt(useProblems(), 'emails')
  useLayoutEffect(() => {
    const [, name = '', , tag = language] = invalid?.path.split('.') ?? []
    if (name in builtIn.kinds) choose({ kind: name as Kind, language: tag })
  }, [invalid])
  const isOwn = FIELDS.some((field) => language in toTexts(own?.[field]))
  const fields = (name: string, value: Texts = {}) => (
    <Fields
      schema={schema.properties?.[name] ?? {}}
      path={`emails.${name}`}
      value={value}
      languages={[language]}
      hidesLanguage
      hidden={placeholders.includes('link') ? [] : ['button']}
      onChange={(next) => setDraft({ ...content, [name]: next })}
    />
  )
  return (
    <>
      <Card title="Text">
        <Choices {...chosen} />
        <p class="soft">
          Sent {occasion}. Placeholders: {placeholders.map((name) => `{${name}}`).join(', ')}.
        </p>
        {fields(kind, isOwn ? own : withBuiltIn(own, builtIn.texts[kind], language))}
        <div class="actions">
          <button type="button" disabled={!own} onClick={() => setDraft(others)}>
            Use the built-in texts
          </button>
        </div>
        <Languages
          languages={listLanguages(chosen)}
          onAdd={(tag) => choose({ kind, language: tag })}
        />
      </Card>
      <Group
        title="Frame"
        summary={`around every e-mail, in ${languageName(language)}`}
        isOpen={false}
      >
        {fields('frame', content['frame'])}
      </Group>
    </>
  )
}

function Choices(chosen: ChoiceProps) {
  const { builtIn, choice, choose } = chosen
  return (
    <div class="grid">
      <SelectField
        label="E-mail"
        value={choice.kind}
        options={Object.keys(builtIn.kinds).map((kind) => [kind, words(kind)])}
        onChange={(kind) => choose({ ...choice, kind: kind as Kind })}
      />
      <SelectField
        label="Language"
        value={choice.language}
        options={listLanguages(chosen).map((tag) => [tag, languageName(tag)])}
        onChange={(language) => choose({ ...choice, language })}
      />
    </div>
  )
}

/** The e-mail that users get, with the unsaved changes and sample values. */
function Preview(chosen: ChoiceProps) {
  const { content, choice } = chosen
  const [view, setView] = useState('Light')
  const [mail, setMail] = useState<Rendered | null>(null)
  const [isReady, setReady] = useState(false)
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    let isOld = false
    const timer = setTimeout(async () => {
      // A value that is still being typed, such as half a color, leaves the preview as it is.
      const next = await send<Rendered>('preview/emails', { ...choice, content }).catch(() => null)
      if (next && !isOld) setMail(next)
    }, 200)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [content, choice])
  useLayoutEffect(() => {
    const page = frame.current?.contentDocument?.documentElement
    if (!page || !mail || !isReady) return
    page.innerHTML = mail.html
      .replace('(prefers-color-scheme: dark)', view === 'Dark' ? 'all' : 'not all')
      .replaceAll(' href="', ' data-link="')
    const height = page.querySelector('div')?.offsetHeight
    frame.current?.style.setProperty('height', `${height}px`)
  }, [mail, view, isReady])
  return (
    <Card title="Preview">
      {!canEdit.value && <Choices {...chosen} />}
      <div class="grid">
        <SelectField
          label="Shown as"
          value={view}
          options={VIEWS.map((name) => [name, name])}
          onChange={setView}
        />
      </div>
      <p dir="auto">
        <span class="soft">Subject:</span> <strong>{mail?.subject}</strong>
      </p>
      {view === 'Plain text' && <pre dir="auto">{mail?.text}</pre>}
      <iframe
        ref={frame}
        class="mail"
        title="E-mail"
        hidden={view === 'Plain text'}
        src={apiAddress('preview/emails/page')}
        sandbox="allow-same-origin"
        onLoad={() => setReady(true)}
      />
      <div class="actions">
        <ActionButton
          path="emails/test"
          input={{ ...choice, content }}
          asks={['email']}
          onDone={({ isSent }) => isSent || 'SMTP_URL is not set: it was only written to a file.'}
        />
      </div>
    </Card>
  )
}

/** Replaces the texts in a language with the built-in ones. */
function withBuiltIn(own: Texts = {}, builtIn: Texts, language: string): Texts {
  const entries = Object.keys(builtIn).map((field) => {
    const { [language]: text } = toTexts(builtIn[field])
    return [field, { ...toTexts(own[field]), ...(text && { [language]: text }) }]
  })
  return Object.fromEntries(entries)
}

/** The languages of all texts, and the chosen one. */
function listLanguages({ content, builtIn, choice }: ChoiceProps): string[] {
  const all = [...Object.values(builtIn.texts), ...Object.values(content)]
  const texts = all.flatMap((one) => Object.values(one)).filter((one) => typeof one === 'object')
  return [...new Set([...texts.flatMap((text) => Object.keys(text ?? {})), choice.language])]
}
