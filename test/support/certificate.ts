import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
  /** The common name of its subject. */
  readonly commonName: string;
}

export interface CertificateOptions {
  /** DNS names the certificate is for. */
  readonly names: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** `a test receiver` by default. */
  readonly commonName?: string;
  /** Who signs it; itself by default. */
  readonly issuer?: Certificate;
  /** Whether it may sign others. */
  readonly isAuthority?: boolean;
  /** P-256 by default. */
  readonly keyPair?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
}

const DAY_MS = 86_400_000;
const SEQUENCE = 0x30;
const SET = 0x31;
const BOOLEAN = 0x01;
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
const commonNameId = der(OBJECT_ID, Buffer.from('550403', 'hex'));
const subjectAltName = der(OBJECT_ID, Buffer.from('551d11', 'hex'));
const basicConstraints = der(OBJECT_ID, Buffer.from('551d13', 'hex'));

let serial = 0;

/** A fresh certificate (X.509 v3, P-256, self-signed), so that no key has to lie in the repository and none expires. */
export function makeCertificate(options: CertificateOptions): Certificate {
  const { commonName = 'a test receiver', issuer, isAuthority = false } = options;
  const keys = options.keyPair ?? generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { publicKey, privateKey } = keys;
  const names = der(SEQUENCE, ...options.names.map((name) => der(DNS_NAME, Buffer.from(name, 'latin1'))));
  const constraints = der(SEQUENCE, ...(isAuthority ? [der(BOOLEAN, Buffer.from([0xff]))] : []));
  const body = der(
    SEQUENCE,
    der(VERSION_FIELD, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([(serial = (serial + 1) % 0x7f) + 1])),
    ecdsaWithSha256,
    nameOf(issuer?.commonName ?? commonName),
    der(
      SEQUENCE,
      time(options.notBefore ?? new Date(Date.now() - DAY_MS)),
      time(options.notAfter ?? new Date(Date.now() + DAY_MS)),
    ),
    nameOf(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      EXTENSIONS_FIELD,
      der(
        SEQUENCE,
        der(SEQUENCE, subjectAltName, der(OCTET_STRING, names)),
        der(SEQUENCE, basicConstraints, der(OCTET_STRING, constraints)),
      ),
    ),
  );
  const signer = issuer === undefined ? privateKey : createPrivateKey(issuer.key);
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', body, signer));
  const bytes = der(SEQUENCE, body, ecdsaWithSha256, signature);
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    commonName,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function nameOf(commonName: string): Buffer {
  const text = der(UTF8_STRING, Buffer.from(commonName));
  return der(SEQUENCE, der(SET, der(SEQUENCE, commonNameId, text)));
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
