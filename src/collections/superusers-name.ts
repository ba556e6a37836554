/** The name of the collection of superusers. Every instance has it, and nobody can rename it. */
export const superusersName = '_superusers';
