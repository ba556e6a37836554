import { generateKeyPairSync, sign } from 'node:crypto';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface CertificateOptions {
  /** DNS names the certificate is for. */
  readonly names: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

const DAY_MS = 86_400_000;
const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const GENERALIZED_TIME = 0x18;
const VERSION_FIELD = 0xa0;
const EXTENSIONS_FIELD = 0xa3;
const DNS_NAME = 0x82;

const ecdsaWithSha256 = der(SEQUENCE, der(OBJECT_ID, Buffer.from('2a8648ce3d040302', 'hex')));
const commonName = der(OBJECT_ID, Buffer.from('550403', 'hex'));
const subjectAltName = der(OBJECT_ID, Buffer.from('551d11', 'hex'));

/** A fresh self-signed certificate (X.509 v3, P-256), so that no key has to lie in the repository and none expires. */
export function makeCertificate(options: CertificateOptions): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, commonName, der(UTF8_STRING, Buffer.from('a test receiver')))),
  );
  const names = der(SEQUENCE, ...options.names.map((name) => der(DNS_NAME, Buffer.from(name, 'latin1'))));
  const body = der(
    SEQUENCE,
    der(VERSION_FIELD, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1])),
    ecdsaWithSha256,
    issuer,
    der(
      SEQUENCE,
      time(options.notBefore ?? new Date(Date.now() - DAY_MS)),
      time(options.notAfter ?? new Date(Date.now() + DAY_MS)),
    ),
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(EXTENSIONS_FIELD, der(SEQUENCE, der(SEQUENCE, subjectAltName, der(OCTET_STRING, names)))),
  );
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', body, privateKey));
  const bytes = der(SEQUENCE, body, ecdsaWithSha256, signature);
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

/** One element of the Distinguished Encoding Rules: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 0xff]), content]);
}

function time(date: Date): Buffer {
  return der(GENERALIZED_TIME, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`));
}
