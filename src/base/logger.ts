/** How a part tells the operator something. app.ts passes a real logger; members must never hold a secret. */
export interface Logger {
  debug(message: string, members?: LogMembers): void;
  info(message: string, members?: LogMembers): void;
  warn(message: string, members?: LogMembers): void;
  error(message: string, members?: LogMembers): void;
}

export type LogMembers = Readonly<Record<string, unknown>>;
