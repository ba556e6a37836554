export type ConnectFailureKind = 'dns' | 'connect' | 'tls' | 'refused' | 'timeout' | 'protocol';

/**
 * Why no usable connection was made. `message` is in plain words, for the endpoint's owner. `code` must not be one of undici's: on
 * `UND_ERR_SOCKET` and `UND_ERR_INFO` undici would reconnect without end.
 */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure';
  readonly kind: ConnectFailureKind;
  readonly code = 'CONNECT_FAILURE';

  constructor(kind: ConnectFailureKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}
