# Verifies a webhook by hand, with a POSIX shell and openssl. The body is in $BODY_FILE, $NOW_SECONDS is $(date +%s). The key is visible in
# the command line while openssl runs, so do not use this on a machine that you share with others.
verify() {
  # Only digits may come near an arithmetic expansion, which some shells evaluate like code.
  case $WEBHOOK_TIMESTAMP in '' | *[!0-9]* | 0?*) return 1 ;; esac
  age=$((NOW_SECONDS - WEBHOOK_TIMESTAMP))
  [ "$age" -le 300 ] && [ "$age" -ge -300 ] || return 1
  case $SECRET in
    whsec_*) key=$(printf %s "${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n') ;;
    *) key=$(printf %s "$SECRET" | od -An -v -tx1 | tr -d ' \n') ;;
  esac
  [ -n "$key" ] || return 1 # A secret that is not set must not be one that anybody knows.
  expected=$({ printf '%s.%s.' "$WEBHOOK_ID" "$WEBHOOK_TIMESTAMP"; cat "$BODY_FILE"; } |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
  case " $WEBHOOK_SIGNATURE " in
    *" v1,$expected "*) return 0 ;;
    *) return 1 ;;
  esac
}
