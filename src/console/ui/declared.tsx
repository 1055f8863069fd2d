import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import {
  type CallPath,
  declarations,
  type InputOf,
  mayPerform,
  perform,
  type ReplyTo,
} from '../declared.ts'
import { DraftOffers, useDraft } from '../editing/use-draft.tsx'
import { me } from '../operator.ts'
import { Confirm, type ConfirmProps } from './dialog.tsx'
import { Action, Card } from './parts.tsx'
import { Problems } from './problems.tsx'
import {
  type Controls,
  emptyValues,
  isComplete,
  isWide,
  MemberFields,
  type MemberList,
  pickMembers,
  toInput,
  type Values,
} from './schema-fields.tsx'

/** Members of an action's input that the operator enters. */
type Member<Path extends CallPath> = Extract<keyof InputOf<Path>, string>

type DeclaredProps<Path extends CallPath> = {
  path: Path
  /** A string that it returns replaces the success message. */
  onDone?: (reply: ReplyTo<Path>) => unknown
  children?: ComponentChildren
}

type ButtonProps<Path extends CallPath, Asked extends Member<Path>> = DeclaredProps<Path> &
  Partial<Omit<ConfirmProps, 'run' | 'children'>> & {
    input: Omit<InputOf<Path>, Asked>
    /** Members that a dialog asks for. */
    asks?: Asked[]
    /** The initial values of the dialog's fields. */
    initial?: Values
    /** The name of the action's target. */
    target?: string
    /** Whether the button leaves the target out, because the context names it. */
    isShort?: boolean
    /** Why the action cannot be used, such as a missing setting. */
    unavailable?: string | null | undefined
    /** Runs after a failure that may have changed something. */
    onFailure?: () => unknown
  }

/**
 * The button of an action, for operators who may use it. It asks for confirmation if the action has a consequence, or
 * there are `children`, which say more about it.
 */
export function ActionButton<Path extends CallPath, Asked extends Member<Path> = never>(
  props: ButtonProps<Path, Asked>,
) {
  const { path, input, asks = [], initial, target, isShort, unavailable, ...rest } = props
  const { children, onDone, onFailure, onOpen, ...given } = rest
  const [entered, setEntered] = useState<Values>({})
  const action = declarations.value.actions[path]
  if (!action || !mayPerform(path)) return null
  const { consequence, isReversible = false } = action
  const asked = pickMembers(action.input, asks)
  const run = async () => {
    const all = { ...input, ...toInput(asked, entered) } as unknown as InputOf<Path>
    const reply = await perform(path, all).catch(async (error) => {
      await onFailure?.()
      throw error
    })
    return onDone?.(reply)
  }
  const { label = withTarget(action.verb, target) } = given
  const { done = action.isFile ? '' : `${withTarget(action.done ?? action.label, target)}.` } =
    given
  if (unavailable) return <Unavailable label={label} reason={unavailable} />
  if (!consequence && !children && asks.length === 0) {
    return (
      <Action run={run} done={done}>
        {label}
      </Action>
    )
  }
  const verb = withTarget(action.verb)
  return (
    <Confirm
      label={label}
      {...(isShort && { shortLabel: verb })}
      verb={verb}
      isReversible={isReversible}
      {...given}
      done={done}
      isDisabled={given.isDisabled || !isComplete(asked, entered)}
      onOpen={() => {
        setEntered({ ...emptyValues(asked), ...initial })
        onOpen?.()
      }}
      run={run}
    >
      {consequence && <p>{consequence}</p>}
      {children}
      <MemberFields members={asked} values={entered} onChange={setEntered} />
    </Confirm>
  )
}

/** A button that is disabled while a setting is missing. Owners see which; others cannot set it. */
function Unavailable({ label, reason }: { label: string; reason: string }) {
  const id = useId()
  return (
    <span class="unavailable">
      <button type="button" disabled aria-describedby={id}>
        {label}
      </button>{' '}
      <small class="soft" id={id}>
        {me.value?.role === 'owner' ? reason : 'Not set up. Ask an owner.'}
      </small>
    </span>
  )
}

type FormProps<Path extends CallPath> = DeclaredProps<Path> & {
  /** Members that the form does not ask for. */
  input?: Partial<InputOf<Path>>
  title?: string
  /** The name of the form's draft, such as `webhooks`. */
  screen: string
  /** The initial values of the form, if it does not start empty. */
  initial?: Values
  /** Fills the form whenever it changes. */
  filled?: Values | null
  /** The part of a draft that may be stored. */
  storable?: (values: Values) => Values
  /** Controls of members, instead of those that the schema suggests. */
  controls?: Controls
}

/** A form for the input of an action, kept as a draft. `children` are above its fields. */
export function ActionForm<Path extends CallPath>(props: FormProps<Path>) {
  const { path, input = {}, title, screen, filled, storable, controls = {}, onDone } = props
  const action = declarations.value.actions[path]
  const { input: schema = {} } = action ?? {}
  const names = Object.keys(schema.properties ?? {}).filter((name) => !(name in input))
  const members = pickMembers(schema, names)
  const initial = { ...emptyValues(members), ...props.initial }
  const draft = useDraft<Values>({
    screen,
    initial,
    isChanged: (values) => JSON.stringify(values) !== JSON.stringify(initial),
    ...(storable && { storable }),
  })
  const { value: values, setValue: setValues } = draft
  const latest = useRef(values)
  latest.current = values
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (!filled) return
    setValues(filled)
    form.current?.querySelector('input')?.focus()
  }, [filled])
  if (!action || !mayPerform(path)) return null
  const submit = async () => {
    const all = { ...input, ...toInput(members, values) } as unknown as InputOf<Path>
    const reply = await perform(path, all)
    // Text typed in the meantime belongs to the next submission.
    if (latest.current === values) setValues(initial)
    return onDone?.(reply)
  }
  const fields = { values, onChange: setValues, controls }
  const needsLine = ({ name, schema: member }: MemberList[number]) =>
    name in controls || isWide(member)
  const content = (
    <>
      <DraftOffers draft={draft} />
      {props.children}
      <Problems>
        <form ref={form} class="stack" onSubmit={(event) => event.preventDefault()}>
          <div class="grid">
            <MemberFields {...fields} members={members.filter((member) => !needsLine(member))} />
          </div>
          <MemberFields {...fields} members={members.filter(needsLine)} />
          <div class="actions">
            <Action
              kind="primary"
              isSubmit
              disabled={!isComplete(members, values)}
              run={submit}
              done={`${withTarget(action.done ?? action.label)}.`}
            >
              {action.verb}
            </Action>
          </div>
        </form>
      </Problems>
    </>
  )
  return title === undefined ? content : <Card title={title}>{content}</Card>
}

/** `Reset two-factor for Ann`, or `Reset two-factor` without a target. */
function withTarget(text: string, target?: string): string {
  return target === undefined ? text.replace(/ (of|to|for)$/, '') : `${text} ${target}`
}
