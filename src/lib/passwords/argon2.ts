/** The cost of one hash: KiB of memory, and passes over it. */
export type PasswordCost = { memoryCost: number; timeCost: number }

/** Hashes are in PHC string format, which includes the cost; the work runs on threads. */
export type Argon2 = {
  hash(password: string): Promise<string>
  verify(stored: string, password: string): Promise<boolean>
}

/** The addon needs half of Bun's CPU time (50 ms against 115). `onMissing`: it cannot load, as on a noexec mount. */
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
