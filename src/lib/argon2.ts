/** What a guess costs: KiB of memory, and passes over it. */
export type PasswordCost = { memoryCost: number; timeCost: number }

/** Hashes in the usual text form, with the cost inside; the work is done on threads. */
export type Argon2 = {
  hash(password: string): Promise<string>
  verify(stored: string, password: string): Promise<boolean>
}

/**
 * The addon makes the same hashes in less than half of Bun's time (50 ms of a core against 115). Where it cannot be
 * loaded, such as from a mount without execution, `onMissing` is told and Bun makes them.
 */
export async function loadArgon2(
  { memoryCost, timeCost }: PasswordCost,
  onMissing: (reason: unknown) => void,
): Promise<Argon2> {
  try {
    const { hash, verify } = await import('@node-rs/argon2')
    const options = { memoryCost, timeCost, parallelism: 1 }
    return { hash: (password) => hash(password, options), verify }
  } catch (reason) {
    onMissing(reason)
    const options = { algorithm: 'argon2id', memoryCost, timeCost } as const
    return {
      hash: (password) => Bun.password.hash(password, options),
      verify: (stored, password) => Bun.password.verify(password, stored),
    }
  }
}
