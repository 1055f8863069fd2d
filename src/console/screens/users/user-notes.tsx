import { useRef } from 'preact/hooks'
import type { Users } from '../../../features/users/users.ts'
import { type ReplyOf, send } from '../../api.ts'
import { DraftOffers, useDraft } from '../../editing/use-draft.tsx'
import { canEdit } from '../../operator.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { Field } from '../../ui/fields.tsx'
import { Action, Card, List, Time } from '../../ui/parts.tsx'
import { Problems } from '../../ui/problems.tsx'

type NotesProps = {
  userId: string
  notes: ReplyOf<Users['notes']['list']>
  reload: () => Promise<void>
}

/** Operators' notes on a user. */
export function UserNotes({ userId, notes, reload }: NotesProps) {
  const remove = async (note: string) => {
    await send(`people/${userId}/notes/${note}/delete`)
    await reload()
  }
  return (
    <Card title="Notes">
      <List items={notes} empty="No notes.">
        {({ _id, text, author, createdAt }) => (
          <li key={_id}>
            <span class="wide lines">{text}</span>
            <span class="soft">
              {author ?? 'Command line'}, <Time at={createdAt} />
            </span>
            {canEdit.value && (
              <span class="actions">
                <Confirm label="Delete note" run={() => remove(_id)} done="Note deleted.">
                  <p class="lines">{text}</p>
                </Confirm>
              </span>
            )}
          </li>
        )}
      </List>
      {canEdit.value && <AddNote userId={userId} reload={reload} />}
    </Card>
  )
}

function AddNote({ userId, reload }: Omit<NotesProps, 'notes'>) {
  const draft = useDraft({
    screen: `people/${userId}/notes`,
    initial: '',
    isChanged: (text) => text.trim() !== '',
  })
  const { value: text, setValue: setText } = draft
  const typed = useRef(text)
  typed.current = text
  const add = async () => {
    await send(`people/${userId}/notes`, { text })
    // Text typed while this one was being saved belongs to the next note.
    if (typed.current === text) setText('')
    await reload()
  }
  return (
    <>
      <DraftOffers draft={draft} />
      <Problems>
        <form class="stack" onSubmit={(event) => event.preventDefault()}>
          <Field
            label="New note"
            path="text"
            hint="For other operators. The user sees it if they export their data."
          >
            <textarea
              value={text}
              maxLength={2_000}
              rows={3}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </Field>
          <div class="actions end">
            <Action disabled={text.trim() === ''} done="Note added." run={add}>
              Add note
            </Action>
          </div>
        </form>
      </Problems>
    </>
  )
}
