import type { Users } from '../../../features/users/users.ts'
import type { ReplyOf } from '../../api.ts'
import { ActionButton, ActionForm } from '../../ui/declared.tsx'
import { Card, List, Time } from '../../ui/parts.tsx'

type NotesProps = {
  userId: string
  notes: ReplyOf<Users['notes']['list']>
  reload: () => Promise<void>
}

/** Operators' notes on a user. */
export function UserNotes({ userId: id, notes, reload }: NotesProps) {
  return (
    <Card title="Notes">
      <List items={notes} empty="No notes.">
        {({ _id, text, author, createdAt }) => (
          <li key={_id}>
            <span class="wide lines">{text}</span>
            <span class="soft">
              {author ?? 'Command line'}, <Time at={createdAt} />
            </span>
            <span class="actions">
              <ActionButton
                path="people/:id/notes/:note/delete"
                input={{ id, note: _id }}
                onDone={reload}
              >
                <p class="lines">{text}</p>
              </ActionButton>
            </span>
          </li>
        )}
      </List>
      <ActionForm
        path="people/:id/notes"
        input={{ id }}
        screen={`people/${id}/notes`}
        onDone={reload}
      />
    </Card>
  )
}
