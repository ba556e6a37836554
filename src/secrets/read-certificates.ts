import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { toTimestamp, type Timestamp } from '../base/timestamp.ts';
import { nodeTls } from '../network/open-socket.ts';

/** A certificate of a PEM text, as people compare it. */
export interface Certificate {
  /** In canonical form, without what stood around it. */
  readonly pem: string;
  readonly subject: string;
  readonly issuer: string;
  /** SHA-256 of its bytes, as `AA:BB:…`. */
  readonly fingerprint: string;
  readonly validFrom: Timestamp;
  readonly expires: Timestamp;
}

const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Reads the certificates of a PEM text, in their order. Returns the number of the first that is damaged, from 1, in their place. */
export function readCertificates(text: string): readonly Certificate[] | { readonly damaged: number } {
  const certificates: Certificate[] = [];
  for (const pem of text.match(block) ?? []) {
    const certificate = readCertificate(pem);
    if (certificate === undefined) return { damaged: certificates.length + 1 };
    certificates.push(certificate);
  }
  return certificates;
}

function readCertificate(pem: string): Certificate | undefined {
  try {
    const { subject, issuer, fingerprint256, validFrom, validTo, raw } = new X509Certificate(pem);
    const lines = raw.toString('base64').match(/.{1,64}/g) ?? [];
    return {
      pem: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
      subject: nameText(subject),
      issuer: nameText(issuer),
      fingerprint: fingerprint256,
      validFrom: toTimestamp(Date.parse(validFrom)),
      expires: toTimestamp(Date.parse(validTo)),
    };
  } catch {
    // Neither the text nor OpenSSL's error is fit to be shown.
    return undefined;
  }
}

const nameLengthMax = 500;

/** Its parts are lines; an empty name is one that is nowhere in the certificate. */
function nameText(name: string | undefined): string {
  return (name ?? '').replaceAll('\n', ', ').slice(0, nameLengthMax).toWellFormed();
}

/** Returns until when the first certificate of a PEM text is valid, in milliseconds since 1970. Throws for a text that has none. */
export function certificateEnd(pem: Uint8Array): number {
  return Date.parse(new X509Certificate(pem).validTo);
}

const privateKeyBlock = /-----BEGIN ((?:[A-Z]+ )*)PRIVATE KEY-----[^-]+-----END (?:[A-Z]+ )*PRIVATE KEY-----/;
const curves = ['prime256v1', 'secp384r1', 'secp521r1'];
const rsaBitsMin = 2_048;

export type PrivateKeyCheck =
  | { readonly kind: 'accepted'; readonly key: string }
  /** `of`: which of the two is at fault. */
  | { readonly kind: 'refused'; readonly of: 'key' | 'certificate'; readonly problem: string };

/** Checks that a PEM text has the private key of a certificate, in the open, and that TLS accepts both. */
export function checkPrivateKey(text: string, { pem }: Pick<Certificate, 'pem'>): PrivateKeyCheck {
  const [block, kind = ''] = privateKeyBlock.exec(text) ?? [];
  if (kind.startsWith('ENCRYPTED') || text.includes('Proc-Type: 4,ENCRYPTED'))
    return refused('key', 'Must not be encrypted: the service seals it itself.');
  const key = block === undefined ? undefined : readPrivateKey(block);
  if (block === undefined || key === undefined) return refused('key', 'Must be a private key in PEM.');
  const certificate = new X509Certificate(pem);
  if (!certificate.checkPrivateKey(key)) return refused('key', 'Is not the key of the certificate.');
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  const isStrong =
    type === 'rsa' || type === 'rsa-pss'
      ? (details.modulusLength ?? 0) >= rsaBitsMin
      : type === 'ec'
        ? curves.includes(details.namedCurve ?? '')
        : type === 'ed25519' || type === 'ed448';
  if (!isStrong)
    return refused(
      'certificate',
      `Its key must be RSA of at least ${rsaBitsMin} bits, P-256, P-384, P-521 or Ed25519.`,
    );
  if (/md[245]|sha-?1(?!\d)/i.test(certificate.signatureAlgorithm ?? ''))
    return refused('certificate', 'Its signature uses a broken hash.');
  try {
    nodeTls.createSecureContext({ cert: pem, key: block });
  } catch {
    return refused('certificate', 'Cannot be used for TLS with this key.');
  }
  return { kind: 'accepted', key: `${block}\n` };
}

function readPrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // The error may have parts of the key.
    return undefined;
  }
}

function refused(of: 'key' | 'certificate', problem: string): PrivateKeyCheck {
  return { kind: 'refused', of, problem };
}
