import { asRows, type Draft, findUsableName, type Row } from '../user-record.ts'

/** The queries for the users in `data.db`: since PocketBase 0.23, and before. */
export function pocketbaseQueries(collection: string): string[] {
  return [
    ['collectionRef', 'recordRef'],
    ['collectionId', 'recordId'],
  ].map(
    ([collectionColumn, recordColumn]) => `SELECT *, (
      SELECT json_group_array(json_object('provider', provider, 'providerId', providerId))
      FROM _externalAuths WHERE ${recordColumn} = users.id AND ${collectionColumn} =
        (SELECT id FROM _collections WHERE name = '${collection.replaceAll("'", "''")}')
    ) AS externalAuths FROM "${collection.replaceAll('"', '""')}" AS users`,
  )
}

/** A record of an auth collection. Before PocketBase 0.23, the hash was in `passwordHash`. */
export function pocketbaseDraft(row: Row): Draft {
  const accounts = asRows(row['externalAuths'], 'externalAuths')
  return {
    formerId: row['id'],
    email: row['email'],
    emailVerified: row['verified'] === true || row['verified'] === 1,
    name: findUsableName(row['name']),
    createdAt: row['created'],
    passwordHash: row['password'] ?? row['passwordHash'],
    // PocketBase's provider `oidc` may not be the same as ours.
    identities: accounts
      .filter(({ provider }) => provider !== 'oidc')
      .map(({ provider, providerId }) => ({ provider, subject: providerId })),
    withoutSignIn: 'has no e-mail address and no provider account',
  }
}
