import { t } from 'elysia'
import { defineAction } from '../../platform/actions/action.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import type { Attachments } from './service.ts'
import type { StoreOwner } from './storage/store-owner.ts'

type Needs = {
  attachments: Attachments
  findIdByEmail: (email: string) => Promise<string | null>
}

const remove = defineAction({
  name: 'files.delete',
  summary: 'Delete a user’s file by its key',
  label: 'Deleted a file of',
  role: 'operator',
  proof: 'stepUp',
  input: closedObject({ id: t.String({ maxLength: 320 }), key: t.String({ maxLength: 40 }) }),
  console: 'people/:id/files/:key/delete',
  form: { verb: 'Delete', consequence: 'You cannot undo this.', done: 'Deleted' },
  async work(needs: Needs, input) {
    const { userId, size } = await findFile(needs, input)
    await needs.attachments.remove(userId, input.key)
    return { deleted: input.key, userId, size }
  },
  audit: ({ deleted, userId, size }) => ({ target: userId, before: { key: deleted, size } }),
  command: {
    arguments: { id: '<id-or-email>', key: '<key>' },
    risk: async (needs: Needs, input) => {
      const { userId, fileName } = await findFile(needs, input)
      return `This permanently deletes ${fileName} of ${userId}.`
    },
    print: ({ deleted }) => `Deleted ${deleted}.`,
  },
})

const claim = defineAction({
  name: 'files.claim',
  summary:
    'Make this database the owner of the store at FILES_URL, and delete files without a row there',
  label: 'Claimed the store of',
  role: 'owner',
  input: closedObject({}),
  console: null,
  work: ({ storeOwner }: { storeOwner: StoreOwner }) => storeOwner.claim(),
  audit: ({ kind }) => ({ target: 'files', after: { kind } }),
  command: {
    risk: async () =>
      'From now on this server, and no other, deletes files from the store: continue only if no other database uses them. Files without a row are kept for 30 more days.',
    print: () => 'This database now owns the file store.',
  },
})

/** Throws `not_found`. */
async function findFile(
  { attachments, findIdByEmail }: Needs,
  { id, key }: { id: string; key: string },
) {
  const userId = (await findIdByEmail(id)) ?? id
  return { userId, ...(await attachments.toDetails(userId, key, '')) }
}

export const attachmentActions = [remove, claim]
