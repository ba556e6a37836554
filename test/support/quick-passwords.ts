import { PasswordHasher } from '../../src/secrets/password.ts';

/** Hashes at the least cost of argon2id, which is nearly none. Tests of hashing, of its queue or of its time take the standard one. */
export const quickPasswords = new PasswordHasher({ memoryKib: 8, passes: 1, lanes: 1 });
