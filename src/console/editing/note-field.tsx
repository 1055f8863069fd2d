import { Field } from '../ui/parts.tsx'

/** Why something is published. */
export function NoteField({ note, onChange }: { note: string; onChange: (note: string) => void }) {
  return (
    <Field label="Note" hint="Why, for the history">
      <input
        value={note}
        maxLength={500}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </Field>
  )
}
