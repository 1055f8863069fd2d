import { t } from 'elysia'
import { defineAction, findAuthor } from '../../../platform/actions/action.ts'
import { closedObject } from '../../../platform/http/replies/envelope.ts'
import { MAX_NOTE_LENGTH } from '../accounts/notes.ts'
import type { Users } from '../users.ts'
import { id } from './user.ts'

type Needs = { users: Users }

const addNote = defineAction({
  name: 'users.add-note',
  summary: 'Add a note to a user, for other operators',
  label: 'Added a note to',
  role: 'operator',
  input: closedObject({
    id,
    text: t.String({
      maxLength: MAX_NOTE_LENGTH,
      field: {
        label: 'New note',
        hint: 'For other operators. The user sees it if they export their data.',
        rows: 3,
      },
    }),
  }),
  console: 'people/:id/notes',
  form: { verb: 'Add note', done: 'Note added' },
  async work({ users }: Needs, input, { caller }) {
    const account = await users.directory.find(input.id)
    const note = await users.notes.add(account.id, input.text, findAuthor(caller))
    return { userId: account.id, note }
  },
  // Without the text, which is deleted with the user.
  audit: ({ userId, note }) => ({ target: userId, after: { note } }),
  command: {
    arguments: { id: '<id-or-email>', text: '<text>' },
    print: ({ userId }) => `Added a note to ${userId}.`,
  },
})

const deleteNote = defineAction({
  name: 'users.delete-note',
  summary: 'Delete a note of a user',
  label: 'Deleted a note of',
  role: 'operator',
  input: closedObject({ id, note: t.String({ maxLength: 100 }) }),
  console: 'people/:id/notes/:note/delete',
  form: { verb: 'Delete note', done: 'Note deleted' },
  work: ({ users }: Needs, input) => users.notes.remove(input.id, input.note),
  audit: (_removed, { id: target, note }) => ({ target, before: { note } }),
  command: null,
})

export const noteActions = [addNote, deleteNote]
