import hashlib
import hmac
import re
from datetime import datetime, timezone


def is_genuine(headers, raw_body, secrets, tolerance_seconds=300):
    """Whether a request comes from the service.

    headers: names in lower case. raw_body: the bytes as they came, never parsed
    and printed again. secrets: the endpoint's, after a rotation the new and the old one.
    """
    timestamp = headers.get("x-service-timestamp", "")
    try:
        sent_at = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
        age = abs((datetime.now(timezone.utc) - sent_at).total_seconds())
    except (ValueError, TypeError):
        return False
    if age > tolerance_seconds:
        return False
    signatures = [headers.get("x-service-signature", ""), headers.get("x-service-signature-previous", "")]
    given = [part for text in signatures for part in re.findall(r"v1=([0-9a-f]{64})", text)]
    signed = timestamp.encode() + b"." + raw_body
    expected = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    return any([hmac.compare_digest(one, other) for one in given for other in expected])


# With Flask:
#
# secrets = os.environ["ENGAGEMENT_WEBHOOK_SECRETS"].split(",")
#
# @app.post("/hooks")
# def hooks():
#     raw_body = request.get_data()
#     headers = {name.lower(): value for name, value in request.headers.items()}
#     if not is_genuine(headers, raw_body, secrets):
#         return "", 401
#     event = json.loads(raw_body)
#     if event["type"] == "verification":
#         return {"challenge": event["challenge"]}
#     return "", 204  # answer first, work later
