<?php

/**
 * Whether a request comes from the service. $headers have names in lower case; $rawBody is the body as it came, never
 * parsed and printed again; $secrets are the endpoint's: after a rotation the new and the old one. PHP 8.
 */
function is_genuine(array $headers, string $rawBody, array $secrets, int $toleranceSeconds = 300): bool
{
    $timestamp = $headers['x-service-timestamp'] ?? '';
    if (preg_match('/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/D', $timestamp) !== 1) {
        return false;
    }
    $sentAt = strtotime($timestamp);
    if ($sentAt === false || abs(time() - $sentAt) > $toleranceSeconds) {
        return false;
    }
    $genuine = false;
    foreach (['x-service-signature', 'x-service-signature-previous'] as $name) {
        if (preg_match('/v1=([0-9a-f]{64})/', $headers[$name] ?? '', $match) !== 1) {
            continue;
        }
        foreach ($secrets as $secret) {
            $expected = hash_hmac('sha256', $timestamp . '.' . $rawBody, $secret);
            $genuine = hash_equals($expected, $match[1]) || $genuine;
        }
    }
    return $genuine;
}

// The page that is called:
//
// $secrets = explode(',', getenv('ENGAGEMENT_WEBHOOK_SECRETS') ?: throw new RuntimeException('there is no secret'));
// $rawBody = file_get_contents('php://input');
// if (!is_genuine(array_change_key_case(getallheaders()), $rawBody, $secrets)) {
//     http_response_code(401);
//     exit;
// }
// $event = json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
// if ($event['type'] === 'verification') {
//     header('Content-Type: application/json');
//     echo json_encode(['challenge' => $event['challenge']]);
//     exit;
// }
// http_response_code(204); // answer first, work later
